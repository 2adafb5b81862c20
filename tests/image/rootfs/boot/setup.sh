# Runs inside the new root, once Debian's packages and the lab's files are in it.
set -eu

# As installed systems have it: every name goes through systemd-resolved.
ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
systemctl -q enable systemd-networkd systemd-resolved containerd qemu-guest-agent
# It is there for the machines that a test gives into its hands.
systemctl -q disable NetworkManager NetworkManager-dispatcher NetworkManager-wait-online

# agetty hangs up other writers of its terminal; the rest is what no test waits for.
systemctl -q mask serial-getty@ttyS0.service getty.target systemd-logind.service timers.target \
    dev-hugepages.mount dev-mqueue.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    sys-fs-fuse-connections.mount systemd-pstore.service systemd-random-seed.service \
    systemd-network-generator.service systemd-networkd-persistent-storage.service \
    systemd-udev-load-credentials.service systemd-journal-flush.service

# Only machines whose image was made of this one have user data.
touch /etc/cloud/cloud-init.disabled

sh /boot/images.sh
rm /boot/images.sh /boot/kube-proxy

# Empty, not absent: every machine draws its own id, and none takes its boot for the first one, which would preset all units again.
: > /etc/machine-id
rm -f /etc/hostname /etc/apt/apt.conf.d/99mmdebstrap
echo '/dev/vda / ext4 noatime 0 0' > /etc/fstab
rm -rf /var/cache/apt/* /var/lib/apt/lists/*

# A first file system of our own in place of Debian's, which would go through all devices with udev before it mounts the root.
initrd=$(mktemp -d)
mkdir "$initrd/dev" "$initrd/root" "$initrd/machine"
cp /usr/bin/busybox /boot/init "$initrd"
xz -dc /usr/lib/modules/*/kernel/drivers/block/virtio_blk.ko.xz > "$initrd/virtio_blk.ko"
(cd "$initrd" && find . | cpio --quiet -o -H newc > /boot/initrd)
rm -r "$initrd" /boot/init /boot/setup.sh

# Nothing of the image is older than what its packages set up: no boot needs to look.
touch /etc/.updated /var/.updated
