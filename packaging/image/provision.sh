#!/bin/sh
# Makes a Fedora Cloud machine, of which an image is taken then, one on which a node only has to join.
# For root; KUBERNETES_RELEASE is as in 1.37, PACKAGE is the agent's package.
set -eu
: "${KUBERNETES_RELEASE:?say which release, as in 1.37}" "${PACKAGE:?say where the package of the agent is}"

repository() {
    cat > "/etc/yum.repos.d/$1.repo" <<EOF
[$1]
name=$1 $KUBERNETES_RELEASE
baseurl=$2
enabled=1
gpgcheck=1
gpgkey=$2repodata/repomd.xml.key
EOF
}
repository kubernetes "https://pkgs.k8s.io/core:/stable:/v$KUBERNETES_RELEASE/rpm/"
repository cri-o "https://download.opensuse.org/repositories/isv:/cri-o:/stable:/v$KUBERNETES_RELEASE/rpm/"
dnf --assumeyes upgrade
dnf --assumeyes install container-selinux cri-o kubeadm kubelet "$PACKAGE"

printf 'br_netfilter\noverlay\n' > /etc/modules-load.d/dynk8s.conf
printf 'net.bridge.bridge-nf-call-iptables = 1\nnet.ipv4.ip_forward = 1\n' > /etc/sysctl.d/90-dynk8s.conf

# A kubelet does not run with swap, not even with swap in memory.
swapoff --all
if rpm --query zram-generator-defaults > /dev/null; then dnf --assumeyes remove zram-generator-defaults; fi
: > /etc/systemd/zram-generator.conf

# The networks that packages bring would win over the cluster's.
rm -f /etc/cni/net.d/*
systemctl enable crio.service

# The user data bring the configuration: without one, the unit does nothing at boot and cloud-init starts it.
rm -f /etc/dynk8s/agent.toml
rm -f "$PACKAGE"
dnf clean all
# The last: nothing that belongs to this one machine may stay.
dynk8s-agent prepare-image
