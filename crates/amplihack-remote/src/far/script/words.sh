#!/bin/sh
# The far side of remote sessions, see docs/remote/protocol.md. POSIX sh with coreutils, grep, git, tar, gzip, and util-linux' or
# busybox' setsid and flock. Nothing that a user wrote is ever part of a command here: it comes by stdin and lies in files.
set -u
umask_before=$(umask)
umask 077
nl='
'
IFS=" 	$nl"
case $0 in /*) self=$0 ;; *) self=$(pwd)/$0 ;; esac

# Exit codes: 64 what was asked is not understood, 65 other bytes than announced, 66 no such session, 74 something could not be
# written, 75 not now.
fail() { code=$1 && shift && printf 'amplihack-runner: %s\n' "$*" >&2 && exit "$code"; }

# ---------------------------------------------------------------- what words may look like

is_number() { case $1 in '' | *[!0123456789]*) return 1 ;; esac && [ ${#1} -le 15 ]; }
is_hex() { case $1 in '' | *[!0123456789abcdef]*) return 1 ;; esac; }
is_digest() { is_hex "$1" && [ ${#1} -eq 64 ]; }
is_commit() { is_hex "$1" && { [ ${#1} -eq 40 ] || [ ${#1} -eq 64 ]; }; }
is_name() {
  case $1 in '' | [-.]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-]*) return 1 ;; esac
  [ ${#1} -le 64 ]
}
is_variable() {
  case $1 in '' | [0123456789]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_]*) return 1 ;; esac
}
D=[0123456789] X=[0123456789abcdef]
is_id() { case $1 in sess-$D$D$D$D$D$D$D$D-$D$D$D$D$D$D-$X$X$X$X) ;; *) return 1 ;; esac; }
need_id() { is_id "${1-}" || fail 64 "this is no session's id"; }
need_session() { need_id "${1-}" && { [ -d "$sessions/$1" ] || fail 66 "there is no session $1"; }; }

# ---------------------------------------------------------------- files

# put_file DIR NAME TEXT: the line TEXT in DIR/NAME, whole or not at all.
put_file() {
  if printf '%s\n' "$3" >"$1/.$2.$$" && mv -f "$1/.$2.$$" "$1/$2"; then return 0; fi
  rm -f "$1/.$2.$$"
  return 1
}
# get FILE: its first line in $line; false if there is none.
get() { line='' && { IFS= read -r line <"$1"; } 2>/dev/null; }
# Removes a directory, also one that holds directories which are not writable.
clear_away() { rm -rf -- "$@" 2>/dev/null || { chmod -R u+rwx -- "$@" 2>/dev/null; rm -rf -- "$@"; }; }
# drop_tree DIR ID: removes the work tree of the session ID, whose state is in DIR. Earlier versions kept it in there.
drop_tree() {
  [ -h "$1/repo" ] || { clear_away "$1/repo" && return; }
  place=$(readlink "$1/repo")
  # Whoever changes the link does not have another directory removed.
  case $place in /*/"$2"/repo) clear_away "${place%/repo}" || return ;; esac
  rm -f "$1/repo"
}
# Removes the secrets of the session directory $1, wherever they are.
drop_secret() {
  if [ -h "$1/secret" ]; then
    place=$(readlink "$1/secret")
    case $place in /dev/shm/amplihack-*) rm -rf -- "$place" ;; esac
    rm -f "$1/secret"
  else
    rm -rf "$1/secret"
  fi
}
# with_lock DIR COMMAND…: runs the function while this process alone holds DIR's lock. 75: DIR is gone.
# The lock ends with its holder, however that ends.
with_lock() {
  locked=$1 && shift
  (
    flock 9 || fail 75 "the lock of $locked cannot be had"
    [ "$locked/lock" -ef /dev/fd/9 ] || exit 75
    "$@"
  ) 9>>"$locked/lock"
  code=$?
  # So a shell says that it could not open the lock: the directory is gone.
  case $code in 1 | 2) [ -d "$locked" ] || code=75 ;; esac
  return "$code"
}

