# Runs inside the new root: makes the images of the containers that pods here can run, as one archive for `ctr images import`,
# since no machine reaches a registry. Its form is that of `docker save`, where layers and configurations are plain files.
set -eu

archive=/var/lib/images.tar
workshop=$(mktemp -d)
cd "$workshop"
mkdir -p busybox/bin kube-proxy/usr/local/bin kube-proxy/usr/sbin archive

cp /usr/bin/busybox busybox/bin
busybox --list | while read -r name; do [ "$name" = busybox ] || ln -s busybox "busybox/bin/$name"; done

# In its mode `nftables` it runs nft, which is not static.
cp /boot/kube-proxy kube-proxy/usr/local/bin
cp /usr/sbin/nft kube-proxy/usr/sbin
ldd /usr/sbin/nft | grep -o '/[^ ]*' | while read -r library; do cp -L --parents "$library" kube-proxy; done

# configuration <layer>...: that of an image of these layers, which pauses where a pod names no command.
configuration() {
    layers=
    for layer; do
        layers="$layers${layers:+, }\"sha256:$(sha256sum "archive/$layer.tar" | cut -d' ' -f1)\""
    done
    echo "{\"architecture\": \"amd64\", \"os\": \"linux\", \"rootfs\": {\"type\": \"layers\", \"diff_ids\": [$layers]},"
    echo ' "config": {"Env": ["PATH=/usr/local/bin:/usr/sbin:/bin"], "Cmd": ["sleep", "infinity"]}}'
}

for layer in busybox kube-proxy; do
    tar --sort=name --owner=0 --group=0 -C "$layer" -cf "archive/$layer.tar" .
done
configuration busybox > archive/busybox.json
configuration busybox kube-proxy > archive/kube-proxy.json
cat > archive/manifest.json <<END
[
  {
    "RepoTags": ["dynk8s.test/pause:1", "dynk8s.test/busybox:1"],
    "Config": "busybox.json",
    "Layers": ["busybox.tar"]
  },
  {
    "RepoTags": ["dynk8s.test/kube-proxy:$(kubeadm version --output=short)"],
    "Config": "kube-proxy.json",
    "Layers": ["busybox.tar", "kube-proxy.tar"]
  }
]
END
tar -C archive -cf "$archive" manifest.json busybox.json busybox.tar kube-proxy.json kube-proxy.tar
rm -r "$workshop"
