# Run on the host as its superuser. In: HOST, and the configuration on stdin when it is not there yet.
set -eu
umask 022
mkdir -p /etc/slurm /etc/munge /run/munge /run/slurm /var/lib/munge /var/log/munge /var/log/slurm /var/spool/slurm/state
for node in node1 node2 node3; do mkdir -p "/var/spool/slurm/$node"; done
chmod 700 /var/spool/slurm/state
[ -e /etc/slurm/slurm.conf ] || sed "s/HOST/$(cat /etc/hostname)/" >/etc/slurm/slurm.conf
[ -e /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
chown -R munge: /etc/munge /run/munge /var/lib/munge /var/log/munge
chmod 700 /etc/munge /var/lib/munge /var/log/munge
chmod 400 /etc/munge/munge.key
setpriv --reuid=munge --regid=munge --clear-groups munged
