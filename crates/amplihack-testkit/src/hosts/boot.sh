#!/bin/sh
# Starts one host: first in the network's namespaces, then, as `boot.sh inside`, as process 1 of the host's own.
# In: DIRECTORY, DISK, DISK_SIZE, NAME, ADDRESS, LINK, MAC, MARKER, TOOLS, KEY, LIMITS, BOOT_ID, BINDS (lines FROM<tab>TO).
# Says "up <pid namespace>" when the ssh server listens.
set -eu
if [ "${1-}" != inside ]; then
    exec 9</proc/self/ns/net
    mkdir -p "$DISK"
    mountpoint -q "$DISK" || mount -t tmpfs -o "size=$DISK_SIZE,mode=755" disk "$DISK"
    exec unshare --mount --uts --ipc --net --pid --fork --kill-child sh "$0" inside
fi

# The disk of a new machine: its users, its own host key, and nothing of this machine but programs.
fill() {
    mkdir -p dev etc/ssh home mnt opt/tools proc run sys tmp usr var/lib var/log var/spool workspace
    mkdir -m 1777 var/tmp
    ln -s /run var/run
    for part in bin sbin lib lib32 lib64 libx32; do
        if [ -L "/$part" ]; then cp -P "/$part" .; elif [ -d "/$part" ]; then mkdir "$part"; fi
    done
    for part in alternatives bash.bashrc default environment ld.so.cache ld.so.conf ld.so.conf.d login.defs nsswitch.conf pam.conf \
        pam.d protocols security services shells; do
        [ ! -e "/etc/$part" ] || cp -a "/etc/$part" etc/
    done
    cp "$DIRECTORY/passwd.host" etc/passwd
    cp "$DIRECTORY/group.host" etc/group
    install -m 600 "$DIRECTORY/shadow.host" etc/shadow
    echo "$NAME" >etc/hostname
    printf 'PATH=/opt/tools:/usr/local/bin:/usr/bin:/bin\nexport PATH\n' >etc/profile
    user=home/azureuser
    install -d -m 700 "$SUPERUSER_HOME"
    install -d -m 750 -o 4242 -g 4242 "$user"
    install -d -m 755 -o 4242 -g 4242 workspace
    install -d -m 700 -o 4242 -g 4242 "$user/.ssh"
    install -m 600 -o 4242 -g 4242 "$KEY" "$user/.ssh/authorized_keys"
    ssh-keygen -q -t ed25519 -N '' -C "$NAME" -f etc/ssh/ssh_host_ed25519_key
    {
        echo 'Port 22'
        echo 'AddressFamily inet'
        echo 'HostKey /etc/ssh/ssh_host_ed25519_key'
        echo 'PasswordAuthentication no'
        echo 'KbdInteractiveAuthentication no'
        echo 'UsePAM no'
        echo 'UseDNS no'
        echo 'PidFile none'
        echo 'PrintMotd no'
        echo 'Subsystem sftp internal-sftp'
        echo "SetEnv PATH=/opt/tools:/usr/local/bin:/usr/bin:/bin KIT_NETWORK=$MARKER"
        echo "$LIMITS"
    } >etc/ssh/sshd_config
    cat >etc/init <<'INIT'
exec 9<&-
/usr/sbin/sshd -D -e </dev/null >/dev/null 2>>/var/log/sshd.log &
tries=0
until grep -q ':0016 00000000:0000 0A ' /proc/net/tcp; do
    tries=$((tries + 1))
    [ "$tries" -lt 1000 ] || { cat /var/log/sshd.log >&2; exit 1; }
    sleep 0.01
done
echo "up $(readlink /proc/self/ns/pid)"
exec </dev/null >/dev/null 2>&1
sleep infinity &
wait
INIT
}

cd "$DISK"
[ -e etc/init ] || fill
mount --rbind /usr usr
mount -o remount,bind,ro usr
for part in bin sbin lib lib32 lib64 libx32; do
    if [ -d "$part" ] && [ ! -L "$part" ]; then mount --bind "/$part" "$part"; fi
done
mount -t proc proc proc
printf '%s\n' "$BOOT_ID" >etc/boot_id
mount --bind etc/boot_id proc/sys/kernel/random/boot_id
mount --rbind /sys sys
mount -t tmpfs -o mode=755 dev dev
for device in null zero full random urandom tty; do
    : >"dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 run run
mkdir run/sshd
mount --bind "$TOOLS" opt/tools
mount -o remount,bind,ro opt/tools
: >>etc/hosts
mount --bind "$DIRECTORY/hosts" etc/hosts
printf '%s' "$BINDS" | while IFS='	' read -r from to; do
    mkdir -p "./$to"
    mount --bind "$from" "./$to"
    mount -o remount,bind,ro "./$to"
done

hostname "$NAME"
# The other end lies in the network, whose namespace came along as descriptor 9.
ip link add eth0 address "$MAC" type veth peer name "$LINK" netns /proc/self/fd/9
nsenter --net=/proc/self/fd/9 ip link set "$LINK" master br0 up
ip link set lo up
ip addr add "$ADDRESS/24" dev eth0
ip link set eth0 up

pivot_root . mnt
umount -l mnt
cd /
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin KIT_NETWORK="$MARKER" sh /etc/init
