# EC2 says which instances come and go: EventBridge, SNS, the provisioner.

locals {
  prefix = "dynk8s-${var.name}"

  # 35 tries in about 55 minutes. SNS admits an hour in all; the bound is for a slow middle of 120 s each.
  delivery = {
    healthyRetryPolicy = {
      minDelayTarget     = 10
      maxDelayTarget     = 120
      numRetries         = 35
      numNoDelayRetries  = 1
      numMinDelayRetries = 5
      numMaxDelayRetries = 24
      backoffFunction    = "linear"
    }
  }
}

resource "aws_sns_topic" "events" {
  #checkov:skip=CKV_AWS_26:what is said is no secret, and EventBridge could not use the key that SNS brings
  name              = coalesce(var.topic_name, local.prefix)
  signature_version = 2
  tags              = var.tags
}

# EventBridge admits no condition in the policy of a topic. The provisioner believes only accounts that it lists.
resource "aws_sns_topic_policy" "events" {
  arn = aws_sns_topic.events.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "EventBridge"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sns:Publish"
      Resource  = aws_sns_topic.events.arn
    }]
  })
}

# All states: the provisioner knows what each is worth. No input transformer: it takes events whole.
resource "aws_cloudwatch_event_rule" "states" {
  name        = local.prefix
  description = "Instances come and go, for dynk8s"
  event_pattern = jsonencode({
    source      = ["aws.ec2"]
    detail-type = ["EC2 Instance State-change Notification"]
  })
  tags = var.tags
}

resource "aws_cloudwatch_event_target" "topic" {
  rule = aws_cloudwatch_event_rule.states.name
  arn  = aws_sns_topic.events.arn
}

resource "aws_sns_topic_subscription" "provisioner" {
  count = var.subscribe ? 1 : 0

  topic_arn                       = aws_sns_topic.events.arn
  protocol                        = "https"
  endpoint                        = "${trimsuffix(var.provisioner_url, "/")}/sns"
  endpoint_auto_confirms          = true
  confirmation_timeout_in_minutes = 5
  delivery_policy                 = jsonencode(local.delivery)
  redrive_policy                  = jsonencode({ deadLetterTargetArn = aws_sqs_queue.lost.arn })

  depends_on = [aws_sqs_queue_policy.lost]
}

resource "aws_sqs_queue" "lost" {
  name                      = "${local.prefix}-lost"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

resource "aws_sqs_queue_policy" "lost" {
  queue_url = aws_sqs_queue.lost.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "SNS"
      Effect    = "Allow"
      Principal = { Service = "sns.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.lost.arn
      Condition = { ArnEquals = { "aws:SourceArn" = aws_sns_topic.events.arn } }
    }]
  })
}

resource "aws_cloudwatch_metric_alarm" "lost" {
  alarm_name          = "${local.prefix}-lost"
  alarm_description   = "SNS could not deliver to the provisioner for an hour; the messages are in the queue ${aws_sqs_queue.lost.name}."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.lost.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  tags                = var.tags
}
