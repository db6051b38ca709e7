#!/bin/sh
# Holds the namespaces of one network: net and mount of the client, and the process tree of all hosts.
# In: DIRECTORY with passwd.client and hosts. Ends everything in them, and itself, when its stdin ends.
set -eu
ip link set lo up
ip link add br0 address 02:00:00:00:00:01 type bridge
ip addr add 10.231.0.1/24 dev br0
ip link set br0 up
# ssh takes its user's home from here, not from HOME.
mount --bind "$DIRECTORY/passwd.client" /etc/passwd
mount --bind "$DIRECTORY/hosts" /etc/hosts

# Process 1 of all hosts' processes. When it ends the kernel ends them all, and `wait` returns after that.
# Descriptor 3, because a shell takes stdin away from what it starts in the background.
exec 3<&0
unshare --pid --fork --kill-child sh -c 'cat >/dev/null; :' <&3 3<&- >/dev/null 2>&1 &
pool=$!
own=$(readlink /proc/self/ns/pid)
tries=0
until inside=$(readlink "/proc/$pool/ns/pid_for_children") && [ "$inside" != "$own" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 1000 ] || exit 1
    sleep 0.005
done
echo "up $pool"
exec >/dev/null
wait "$pool" || :

# What clients left in this network, such as connections that stay for the next command.
net=$(readlink /proc/self/ns/net | tr -dc 0-9)
for link in $(find /proc/[0-9]*/ns/net -lname "net:?$net?" 2>/dev/null); do
    pid=${link#/proc/}
    pid=${pid%%/*}
    [ "$pid" = "$$" ] || kill -KILL "$pid" 2>/dev/null || :
done

# A test that was killed does not clean up.
case $DIRECTORY in
*/kit-net-*)
    umount -l "$DIRECTORY"/disks/* 2>/dev/null || :
    rm -rf "$DIRECTORY"
    ;;
esac
