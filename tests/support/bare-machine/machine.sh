#!/bin/bash
# A machine like this one, on a copy of its files that is thrown away: runs SHARED/script.sh there as root. Packages that
# apt-get would install are unpacked from SHARED/packages. systemd is played by systemctl.ts.
set -eu
SHARED=$1 BUN=$2
HERE=$(cd "$(dirname "$0")" && pwd)
REPOSITORY=$(cd "$HERE/../../.." && pwd)
copy=$SHARED/copy
mkdir -p "$copy"
# Not a folder of the copied files: an overlay cannot lie in itself.
mount -t tmpfs -o size=4g tmpfs "$copy"
mkdir "$copy/upper" "$copy/work" "$copy/root"
root=$copy/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$copy/upper,workdir=$copy/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/tmp/shared"
mount --bind "$SHARED" "$root/tmp/shared"
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip address add 198.51.100.2/24 dev eth0
ip link set eth0 up
rm -f "$root/etc/resolv.conf" && cp "$SHARED/resolv.conf" "$root/etc/resolv.conf"
tar -C "$SHARED/packages/" -c . | tar -C "$root" -x --keep-directory-symlink
chroot "$root" useradd --system --user-group --home-dir /var/lib/caddy --create-home caddy
chroot "$root" useradd --system --user-group --home-dir /var/lib/prometheus prometheus
mkdir -p "$root/var/lib/prometheus" && chroot "$root" chown -R prometheus: /var/lib/prometheus
until [ -s "$SHARED/authority/pki/authorities/local/root.crt" ]; do sleep 0.1; done
cat "$SHARED/authority/pki/authorities/local/root.crt" >>"$root/etc/ssl/certs/ca-certificates.crt"
# The repository as `git clone` gives it, with the packages that an installer would fetch.
mkdir -p "$root/srv/repository" "$root/srv/packages"
mount --bind "$REPOSITORY/node_modules" "$root/srv/packages"
tar -C "$REPOSITORY" --exclude=./node_modules --exclude=./.git -c . | tar -C "$root/srv/repository" -x
cp "$BUN" "$root/usr/lib/test-bun" && chmod 755 "$root/usr/lib/test-bun"
cp "$HERE/systemctl.ts" "$root/usr/lib/systemctl.ts"
shim() { printf '#!/bin/bash\n%s\n' "$2" >"$root/usr/local/sbin/$1" && chmod 755 "$root/usr/local/sbin/$1"; }
shim systemctl 'exec /usr/lib/test-bun /usr/lib/systemctl.ts "$@"'
shim journalctl 'cat /tmp/shared/log/$2.log'
# Debian starts what it installs.
shim apt-get '[ "$1" != install ] || systemctl start postfix caddy prometheus prometheus-alertmanager'
shim git '[ "$1" = clone ] && cp -a /srv/repository "$3" && mkdir -p "$3/node_modules" && mount --bind /srv/packages "$3/node_modules"'
mkdir -p "$SHARED/log" && chmod 777 "$SHARED/log"
cp "$SHARED/script.sh" "$root/script.sh"
until chroot "$root" curl --silent --fail --output /dev/null https://acme-v02.api.letsencrypt.org/directory; do sleep 0.1; done
status=0
chroot "$root" env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash /script.sh || status=$?
echo $status >"$SHARED/status"
touch "$SHARED/ended"
