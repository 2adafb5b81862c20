#!/bin/bash
# Kills the agent behind each of its steps, once each, and keeps what its timeline said by then. Nothing is started in between:
# that would be slower than a step.
timeline=/run/dynk8s/timeline.json
agent=/sys/fs/cgroup/system.slice/dynk8s-agent.service/cgroup.procs
mkdir -p /run/killed
exec {never}<> <(:)

is_over() {
    local lines line name=
    mapfile -t lines < "$timeline"
    for line in "${lines[@]}"; do
        case $line in
            *'"name": '*) name=$line ;;
            *'"elapsedMs": '*) [[ $name == *"\"$1\""* ]] && return 0 ;;
        esac
    done
    return 1
}

# A join that is under way, whose kubelet has its certificate already.
is_half() {
    [[ -e /etc/kubernetes/kubelet.conf ]]
}

kill_agent() {
    local pid comm
    while read -r pid; do
        read -r comm < "/proc/$pid/comm" && [[ $comm == dynk8s-agent ]] && kill -KILL "$pid"
    done < "$agent"
}

for step in facts claim tunnel names half-a-join join ready; do
    reached=(is_over "$step")
    [[ $step == half-a-join ]] && reached=(is_half)
    until "${reached[@]}" 2> /dev/null; do
        read -r -t 0.02 -u "$never"
    done
    kill_agent
    cp "$timeline" "/run/killed/$step.json"
done
