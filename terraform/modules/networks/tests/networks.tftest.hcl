# Which networks are refused. No provider is needed.

run "networks_that_lie_side_by_side_are_taken" {
  command = plan

  variables {
    networks = {
      vpc      = ["172.31.0.0/20", "2001:db8:31::/56"]
      tunnel   = ["10.98.0.0/24"]
      pods     = ["10.244.0.0/16", "2001:db8:244::/56"]
      services = ["10.96.0.0/16"]
    }
  }

  assert {
    condition     = output.disjoint.tunnel == tolist(["10.98.0.0/24"])
    error_message = "The networks must come out as they went in."
  }
}

run "the_neighbour_of_a_network_is_taken" {
  command = plan
  variables {
    networks = { one = ["10.0.0.0/17"], other = ["10.0.128.0/17"] }
  }
}

run "a_vpc_that_holds_the_tunnel_is_refused" {
  command = plan
  variables {
    networks = { vpc = ["10.0.0.0/8"], tunnel = ["10.98.0.0/24"] }
  }
  expect_failures = [output.disjoint]
}

run "a_pod_network_in_the_service_network_is_refused" {
  command = plan
  variables {
    networks = { pods = ["10.100.0.0/16"], services = ["10.96.0.0/12"] }
  }
  expect_failures = [output.disjoint]
}

run "the_same_network_twice_is_refused" {
  command = plan
  variables {
    networks = { vpc = ["172.31.0.0/16"], pods = ["172.31.0.0/16"] }
  }
  expect_failures = [output.disjoint]
}

run "the_second_range_of_a_vpc_counts" {
  command = plan
  variables {
    networks = { vpc = ["172.31.0.0/20", "10.244.8.0/21"], pods = ["10.244.0.0/16"] }
  }
  expect_failures = [output.disjoint]
}

run "networks_of_ipv6_are_compared" {
  command = plan
  variables {
    networks = { vpc = ["2001:db8:31::/56"], pods = ["2001:db8:31:40::/64"] }
  }
  expect_failures = [output.disjoint]
}

run "an_address_with_bits_of_a_host_is_no_network" {
  command = plan
  variables {
    networks = { vpc = ["172.31.4.0/20"] }
  }
  expect_failures = [var.networks]
}

run "a_network_has_a_length" {
  command = plan
  variables {
    networks = { vpc = ["172.31.0.0"] }
  }
  expect_failures = [var.networks]
}
