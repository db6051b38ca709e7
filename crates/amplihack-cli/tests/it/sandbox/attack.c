/* A program as an agent could write it, which tries to reach out of its sandbox. It prints a line for each attempt: `got NAME`, or `no NAME: why`.
 *
 * usage: attack VICTIM PID [PORT SOCKET NAME]    VICTIM: a directory beside the workspace, with `secret`, `id_rsa`, `socket`; PID: a process outside; PORT: of a listener on
 * 127.0.0.1; SOCKET: a listening socket in the directory of temporary files; NAME: of an abstract one, and of what is left behind
 * The workspace is the working directory. Nothing that it may reach is destroyed: it adds names of its own, and renames back.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *victim, *home;
static pid_t outside;
static char *name;
static char place[4096];

static const char *in(const char *directory, const char *file) {
    snprintf(place, sizeof place, "%s/%s", directory, file);
    return place;
}

static void attempt(const char *what, int reached) {
    if (reached) printf("got %s\n", what);
    else printf("no %s: %s\n", what, strerror(errno));
    fflush(stdout);
    errno = 0;
}

static int writes(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return 0;
    int done = write(file, "x\n", 2) == 2;
    close(file);
    return done;
}

static int reads(const char *path, const char *word) {
    char text[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text);
    close(file);
    if (count <= 0) return 0;
    return memmem(text, count, word, strlen(word)) != NULL;
}

static int lists(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) return 0;
    struct dirent *entry;
    int found = 0;
    while ((entry = readdir(directory))) found |= entry->d_name[0] != '.';
    closedir(directory);
    return found;
}

static int connects(const char *address, int port) {
    int end = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) return 0;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int done = connect(end, (void *)&to, sizeof to) == 0;
    if (!done && errno == EINPROGRESS) {
        struct pollfd wait = {end, POLLOUT, 0};
        int error = ETIMEDOUT;
        socklen_t size = sizeof error;
        if (poll(&wait, 1, 500) > 0) getsockopt(end, SOL_SOCKET, SO_ERROR, &error, &size);
        errno = error;
        done = error == 0;
    }
    int kept = errno;
    close(end);
    errno = kept;
    return done;
}

static int joins(const char *path, int is_abstract) {
    int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    memcpy(to.sun_path + is_abstract, path, length);
    int done = connect(end, (void *)&to, offsetof(struct sockaddr_un, sun_path) + is_abstract + length + !is_abstract) == 0;
    int kept = errno;
    close(end);
    errno = kept;
    return done;
}

/* Runs `act` in a process of its own, since it may change what the rest sees. */
static int apart(int (*act)(void)) {
    pid_t child = fork();
    if (child == 0) _exit(act() ? 0 : errno ? errno : 1);
    int status = 0;
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int makes_user_namespace(void) { return unshare(CLONE_NEWUSER) == 0; }
static int makes_mount_namespace(void) { return unshare(CLONE_NEWNS) == 0; }
static int clones_user_namespace(void) {
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    return child > 0;
}
static int clones_by_structure(void) {
    unsigned long long arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    return child > 0;
}
static int unmounts_protection(void) {
    return umount2(".git/hooks", MNT_DETACH) == 0 || umount2(".git", MNT_DETACH) == 0;
}
static int remounts_root(void) { return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0; }
static int changes_root(void) { return chroot(".") == 0; }
static int enters_namespaces_outside(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", outside);
    int space = open(path, O_RDONLY);
    if (space < 0) space = open("/proc/1/ns/mnt", O_RDONLY);
    return space >= 0 && setns(space, 0) == 0;
}
static int gains_user_zero(void) { return setuid(0) == 0 && getuid() == 0; }
static int runs_with_more_rights(void) {
    if (chmod("attack-set", 04755) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return 0;
    return 1;
}

static int swaps_git(void) {
    if (rename(".git", ".git-moved") != 0) return 0;
    rename(".git-moved", ".git");
    return 1;
}
static int swaps_hooks(void) {
    if (rename(".git/hooks", ".git/hooks-moved") != 0) return 0;
    rename(".git/hooks-moved", ".git/hooks");
    return 1;
}
static int removes_configuration(void) { return unlink(".git/config") == 0; }
static int replaces_configuration(void) {
    writes(".git/attack-config");
    int done = rename(".git/attack-config", ".git/config") == 0;
    int kept = errno;
    unlink(".git/attack-config");
    errno = kept;
    return done;
}
static int links_out(void) { return link(in(victim, "secret"), "attack-link") == 0; }
static int reads_through_link(void) {
    symlink(in(victim, "secret"), "attack-symlink");
    int done = reads("attack-symlink", "SECRET");
    unlink("attack-symlink");
    return done;
}
static int climbs(void) { return reads("../victim/secret", "SECRET"); }
static int reads_own_root(void) {
    char path[4200];
    snprintf(path, sizeof path, "/proc/1/root%s/secret", victim);
    return reads(path, "SECRET");
}
static int reads_root_outside(void) {
    char path[4200];
    snprintf(path, sizeof path, "/proc/%d/root%s/secret", outside, victim);
    return reads(path, "SECRET");
}
static int reads_environment(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", outside);
    return reads(path, "OUTSIDE-SECRET");
}
static int finds_process(void) {
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    int found = 0;
    while (processes && (entry = readdir(processes))) {
        char path[300];
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        found |= reads(path, "OUTSIDE-SECRET");
    }
    if (processes) closedir(processes);
    return found;
}
static int takes_descriptor(void) {
    int process = syscall(SYS_pidfd_open, getppid(), 0);
    return process >= 0 && syscall(SYS_pidfd_getfd, process, 0, 0) >= 0;
}
static int reads_memory(void) {
    char word[8];
    struct iovec here = {word, 8}, there = {(void *)0x400000, 8};
    return process_vm_readv(getppid(), &here, 1, &there, 1, 0) >= 0;
}
static int opens_memory(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", outside);
    return open(path, O_RDWR) >= 0 || open("/proc/1/mem", O_RDWR) >= 0;
}
static int opens_by_number(void) {
    struct { struct file_handle head; unsigned char bytes[128]; } handle = {.head = {.handle_bytes = 128}};
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, ".", &handle.head, &mount_id, 0) != 0) return 0;
    int here = open(".", O_RDONLY);
    return open_by_handle_at(here, &handle.head, O_RDONLY) >= 0;
}
static int types_into_terminal(void) {
    int terminal = open("/dev/tty", O_RDWR);
    return terminal >= 0 && ioctl(terminal, 0x5412, "x") == 0;
}
static int opens_disk(void) {
    return open("/dev/sda", O_RDONLY) >= 0 || open("/dev/vda", O_RDONLY) >= 0 || open("/dev/mem", O_RDONLY) >= 0;
}
static int makes_disk(void) {
    int done = mknod("attack-disk", S_IFBLK | 0600, (254 << 8)) == 0 && open("attack-disk", O_RDONLY) >= 0;
    int kept = errno;
    unlink("attack-disk");
    errno = kept;
    return done;
}
static int other_numbers(void) { return syscall(0x40000000 + 39) > 0; }
static int sends_datagram(void) {
    int end = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
    inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
    return sendto(end, "x", 1, 0, (void *)&to, sizeof to) == 1;
}
static int sends_raw(void) { return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0; }
static int leaves_process(void) {
    /* Not an attempt that shows here: whoever runs this looks for it afterwards. */
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            execlp("sleep", name, "300", NULL);
        }
        _exit(0);
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    victim = words[1];
    outside = atoi(words[2]);
    home = getenv("HOME");
    name = count > 5 ? words[5] : "attack";
    attempt("workspace: write", writes("attack-wrote"));

    attempt("files: write beside the workspace", writes(in(victim, "written")));
    attempt("scratch: write above the workspace", writes("../written"));
    attempt("files: write start-up file of the shell", writes(in(home, ".bashrc")));
    attempt("files: write program on PATH", writes(in(home, ".local/bin/git")) || writes("/usr/local/bin/attack"));
    attempt("files: write settings of agents", writes(in(home, ".claude/settings.json")) | writes(in(home, ".codex/config.toml")) | writes(in(home, ".gemini/settings.json")));
    attempt("files: write the guard's policy", writes(in(home, ".config/amplihack/policy.toml")));
    attempt("files: write records of amplihack", writes(in(home, ".amplihack/sessions/x")));
    attempt("files: write system", writes("/etc/attack") || writes("/usr/attack") || writes("/attack"));
    attempt("files: write crontab", writes("/var/spool/cron/crontabs/attack") || writes("/etc/cron.d/attack"));
    attempt("files: read beside the workspace", reads(in(victim, "secret"), "SECRET"));
    attempt("files: read through a link", apart(reads_through_link));
    attempt("files: read by climbing", apart(climbs));
    attempt("files: link into the workspace", links_out());
    attempt("files: read through /proc/1/root", apart(reads_own_root));
    attempt("files: read through the root of a process outside", apart(reads_root_outside));
    attempt("files: open by number", apart(opens_by_number));
    attempt("files: list other homes", lists("/home") && !strncmp(home, "/home", 5) == 0);
    attempt("files: read shadow", reads("/etc/shadow", ":"));

    attempt("keys: ssh", reads(in(home, ".ssh/id_rsa"), "KEY"));
    attempt("keys: aws", reads(in(home, ".aws/credentials"), "KEY"));
    attempt("keys: git", reads(in(home, ".git-credentials"), "KEY"));
    attempt("keys: list .ssh", lists(in(home, ".ssh")));
    attempt("keys: records of amplihack", reads(in(home, ".amplihack/record"), "KEY"));
    attempt("keys: history", reads(in(home, ".bash_history"), "KEY"));

    attempt("git: write hook", writes(".git/hooks/pre-commit"));
    attempt("git: write configuration", writes(".git/config"));
    attempt("git: write attributes", writes(".git/info/attributes"));
    attempt("git: move .git away", apart(swaps_git));
    attempt("git: move hooks away", apart(swaps_hooks));
    attempt("git: remove configuration", apart(removes_configuration));
    attempt("git: replace configuration", apart(replaces_configuration));
    attempt("obeyed: write CI", writes(".github/workflows/ci.yml"));
    attempt("obeyed: write settings of an agent", writes(".claude/settings.json"));
    attempt("obeyed: move .claude away", rename(".claude", ".claude-moved") == 0);

    attempt("network: internet", connects("192.0.2.1", 80));
    attempt("network: metadata", connects("169.254.169.254", 80));
    attempt("network: loopback outside", connects("127.0.0.1", count > 3 ? atoi(words[3]) : 1));
    attempt("network: datagram", apart(sends_datagram));
    attempt("network: raw socket", apart(sends_raw));
    attempt("network: packet socket", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    attempt("network: vsock", socket(AF_VSOCK, SOCK_STREAM, 0) >= 0);
    attempt("network: kernel's crypto", socket(AF_ALG, SOCK_SEQPACKET, 0) >= 0);
    attempt("sockets: by path", joins(in(victim, "socket"), 0));
    attempt("sockets: in /tmp", joins(count > 4 ? words[4] : "/tmp/none", 0));
    attempt("sockets: in the home", joins(in(home, "agent.sock"), 0));
    attempt("sockets: abstract", joins(name, 1));

    attempt("processes: signal", kill(outside, 0) == 0);
    attempt("processes: signal all", kill(-1, 0) == 0 && kill(outside, 0) == 0);
    attempt("processes: environment", apart(reads_environment));
    attempt("processes: any environment", apart(finds_process));
    attempt("processes: trace parent", ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0);
    attempt("processes: read memory", apart(reads_memory));
    attempt("processes: open memory", apart(opens_memory));
    attempt("processes: take descriptor", apart(takes_descriptor));

    attempt("kernel: user namespace", apart(makes_user_namespace));
    attempt("kernel: user namespace by clone", apart(clones_user_namespace));
    attempt("kernel: user namespace by clone3", apart(clones_by_structure));
    attempt("kernel: mount namespace", apart(makes_mount_namespace));
    attempt("kernel: enter namespaces", apart(enters_namespaces_outside));
    attempt("kernel: unmount protection", apart(unmounts_protection));
    attempt("kernel: remount writable", apart(remounts_root));
    attempt("kernel: mount", mount("x", "/tmp", "tmpfs", 0, NULL) == 0);
    attempt("kernel: change root", apart(changes_root));
    attempt("kernel: become user 0", apart(gains_user_zero));
    attempt("kernel: gain rights by a program", apart(runs_with_more_rights));
    attempt("kernel: io_uring", syscall(425, 4, (char[120]){0}) >= 0);
    attempt("kernel: bpf", syscall(SYS_bpf, 0, 0, 0) >= 0 || errno == EINVAL || errno == EFAULT || errno == E2BIG);
    attempt("kernel: perf", syscall(SYS_perf_event_open, (char[128]){0}, 0, -1, -1, 0) >= 0 || errno == EINVAL || errno == E2BIG);
    attempt("kernel: keys", syscall(SYS_keyctl, 0, -3, 1) >= 0);
    attempt("kernel: userfaultfd", syscall(SYS_userfaultfd, 1) >= 0);
    attempt("kernel: module", syscall(SYS_init_module, "x", 1, "") == 0 || errno == ENOEXEC);
    attempt("kernel: log", syscall(SYS_syslog, 3, place, sizeof place) >= 0);
    attempt("kernel: other numbers", apart(other_numbers));
    attempt("kernel: settings", open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0);
    attempt("kernel: change a device", chmod("/dev/null", 0666) == 0);
    attempt("kernel: disk", apart(opens_disk));
    attempt("kernel: make disk", apart(makes_disk));
    attempt("terminal: type", apart(types_into_terminal));
    leaves_process();
    return 0;
}
