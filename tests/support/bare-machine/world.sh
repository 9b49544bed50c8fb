#!/bin/bash
# The internet around a bare Debian machine: DNS, an ACME authority under the name of Let's Encrypt, and the mail server
# of everybody else. Run in namespaces of its own: unshare --net --mount --pid --fork --kill-child bash world.sh SHARED BUN
# SHARED has script.sh, which is run on the machine, and zone.json. The machine's address is 198.51.100.2.
set -eu
SHARED=$1 BUN=$2
HERE=$(cd "$(dirname "$0")" && pwd)
echo 'nameserver 198.51.100.1' >"$SHARED/resolv.conf"
mount --bind "$SHARED/resolv.conf" /etc/resolv.conf
mount -t proc proc /proc
ip link set lo up
unshare --net --mount --pid --fork --kill-child bash "$HERE/machine.sh" "$SHARED" "$BUN" &
machine=$!
until [ "$(readlink /proc/$machine/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add world0 type veth peer name eth0 netns $machine
ip address add 198.51.100.1/24 dev world0
ip link set world0 up
"$BUN" "$HERE/dns-server.ts" 198.51.100.1 "$SHARED/zone.json" 2>"$SHARED/dns.log" &
cat >"$SHARED/authority.conf" <<END
{
	admin off
	storage file_system $SHARED/authority
	skip_install_trust
}
acme-v02.api.letsencrypt.org {
	tls internal
	rewrite /directory /acme/local/directory
	acme_server
}
END
mkdir -p "$SHARED/mail" && chmod 777 "$SHARED/mail"
smtp-sink -u postfix -R "$SHARED/mail" -d '%s.' 198.51.100.1:25 100 2>"$SHARED/sink.log" &
"$SHARED/packages/usr/bin/caddy" run --config "$SHARED/authority.conf" --adapter caddyfile 2>"$SHARED/authority.log" &
# A customer writes when the machine asks for it.
while [ ! -e "$SHARED/ended" ]; do
  if [ -e "$SHARED/write" ]; then
    swaks --server 198.51.100.2 --from carla@customer.example --to "$(cat "$SHARED/write")" --helo mail.customer.example \
      --tls --header 'Subject: The printer is on fire' --body 'It burns. What shall I do?' >"$SHARED/swaks.log" 2>&1 || true
    rm "$SHARED/write"
  fi
  sleep 0.2
done &
wait $machine
