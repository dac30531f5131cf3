"""Users inside a sandbox: there is one, and what clients ask of others is answered clearly.

One unprivileged id of the host is mapped into a sandbox, so no other user can exist there, root included: nothing can
be owned by a second one. Commands that ask for root (`sudo`) run as the one user, which is enough for whatever wants
the word and not the power; commands as the one user by name run; commands as anybody else are refused.
"""

from collections.abc import Mapping, Sequence

from bot.engine.bubblewrap import GUEST_ID
from bot.engine.errors import bad_request

USER = "vercel-sandbox"
_OWN = {USER, str(GUEST_ID)}
_NOT_SUPPORTED = f"this engine's sandboxes have one user, {USER}"

# Found first on PATH inside. The system's own would fail as well, and say something misleading.
PROGRAMS: Mapping[str, str] = {
    "sudo": f"""#!/bin/sh
# Run a command as the one user that there is.
while [ $# -gt 0 ]; do
    case "$1" in
        -u | --user)
            [ "$2" = root ] || [ "$2" = {USER} ] || {{ echo "sudo: {_NOT_SUPPORTED}" >&2; exit 1; }}
            shift 2 ;;
        --) shift; break ;;
        -*) shift ;;
        *=*) export "$1"; shift ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || exit 0
exec "$@"
""",
    **dict.fromkeys(
        ("useradd", "adduser", "groupadd", "addgroup"),
        f'#!/bin/sh\necho "$(basename "$0"): {_NOT_SUPPORTED}" >&2\nexit 1\n',
    ),
}


def without_wrapper(argv: Sequence[str]) -> list[str]:
    """A command without the `setpriv` with which SDKs run it as somebody, if that is the one user.

    Raises `ApiError` 400 `not_supported` for anybody else.
    """
    if not argv[0].endswith("/setpriv") or "--reuid" not in argv or "--" not in argv:
        return list(argv)
    wrapper, command = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    user = wrapper[min(wrapper.index("--reuid") + 1, len(wrapper) - 1)]
    if user not in _OWN or not command:
        raise bad_request(f"a command cannot run as {user}: {_NOT_SUPPORTED}", "not_supported")
    return list(command)
