#!/bin/sh
# Runs as the first program of a machine, of whose disk an image is made then: what packaging/image/provision.sh does to a Fedora.
# The lab has left the files in /boot.
set -eu
mount -t proc proc /proc
mount -t sysfs sysfs /sys

# Debian's packages are not in rpm's books.
rpm --install --nodeps /boot/dynk8s-agent.rpm
rm /boot/dynk8s-agent.rpm
cat /boot/ca.pem >> /etc/ssl/certs/ca-certificates.crt
rm /boot/ca.pem
rm -f /etc/dynk8s/agent.toml
[ ! -e /boot/agent.toml ] || mv /boot/agent.toml /etc/dynk8s/agent.toml
rm /etc/cloud/cloud-init.disabled
dynk8s-agent prepare-image

sync
mount -o remount,ro /
echo "the package is installed" > /dev/console
exec /usr/bin/busybox poweroff -f
