#!/bin/sh
# Runs inside the new root, once Debian's packages and the files of rootfs/ are in it.
set -eu

# As installed systems have it: every name goes through systemd-resolved.
ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
systemctl -q enable systemd-networkd systemd-resolved containerd qemu-guest-agent

# agetty hangs up other writers of its terminal; the rest is housekeeping that no test waits for.
systemctl -q mask serial-getty@ttyS0.service getty@tty1.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer

# Empty, not absent: every machine draws its own id, and none takes its boot for the first one (which would preset all units again).
: > /etc/machine-id
rm -f /etc/hostname
echo '/dev/vda / ext4 defaults,noatime 0 0' > /etc/fstab
update-initramfs -u
