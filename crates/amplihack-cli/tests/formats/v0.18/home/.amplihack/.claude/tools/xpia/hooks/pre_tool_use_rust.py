#!/usr/bin/env python3
"""The XPIA hook's entry point. Made by `amplihack install`; hands over to `amplihack-hooks xpia`, denies when it cannot."""

import os
import sys

# Modules that lie beside this file are somebody else's.
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]

import json  # noqa: E402
import subprocess  # noqa: E402


def deny(why):
    message = "XPIA Security: " + why
    answer = {"permissionDecision": "deny", "message": message, "permissionDecisionReason": message}
    sys.stdout.write(json.dumps(answer) + "\n")


def find():
    home = os.path.expanduser("~")
    places = os.environ.get("PATH", "").split(os.pathsep)
    places += [os.path.join(os.environ.get("AMPLIHACK_HOME") or os.path.join(home, ".amplihack"), "bin")]
    places += [os.path.join(home, place, "bin") for place in (".amplihack", ".local", ".cargo")]
    for name, words in (("amplihack-hooks", []), ("amplihack", ["hook"])):
        for place in places:
            program = os.path.join(place, name)
            if os.path.isabs(program) and os.path.isfile(program) and os.access(program, os.X_OK):
                return [program] + words
    return None


def main():
    program = find()
    if program is None:
        return deny("amplihack-hooks was not found. Every call is denied until amplihack is installed.")
    done = subprocess.run(program + ["xpia"] + sys.argv[1:2], stdout=subprocess.PIPE, timeout=10, check=False)
    answer = json.loads(done.stdout.decode("utf-8"))
    if not isinstance(answer, dict):
        return deny("amplihack-hooks did not answer with an object.")
    if done.returncode != 0 and answer.get("permissionDecision") != "deny":
        return deny("amplihack-hooks ended with code %d." % done.returncode)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:  # a hook that breaks must not let the call run
        deny("Hook error (fail-closed): %s" % error)
