"""Does what a call asks for, and answers; see channel.py."""

import os
import signal
import traceback
from typing import Any, Callable

from . import collect, data, install, lock, logs, remove, run, services, supervisor
from .channel import tell
from .place import Place
from .trouble import Trouble


def show_log(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    deployed = place.require()
    for name in services.chosen(place, [arguments["service"]]):
        logs.show(place, name, arguments["lines"], arguments["follow"], deployed.get("supervisor") == "systemd")
    return {}


def end_former(place: Place, _arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Ends all nodes, since the cluster file no longer has this place."""
    place.require()
    return {"ended": services.end_former(place, [])}


def hold(place: Place, _arguments: "dict[str, Any]") -> "dict[str, Any]":
    place.require()
    lock.hold(place)
    return {}


def wipe_zookeeper(place: Place, _arguments: "dict[str, Any]") -> "dict[str, Any]":
    place.require()
    return data.wipe_zookeeper(place)


def wipe_run_directory(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    place.require()
    return {"removed": data.wipe_run_directory(arguments["run_directory"], place.cluster)}


VERBS: "dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]]" = {
    "facts": run.facts,
    "inspect": install.inspect,
    "install": install.install,
    "start": services.start,
    "stop": services.stop,
    "restart": services.restart,
    "hold": hold,
    "await_serving": services.await_serving,
    "end_former": end_former,
    "forget_former": install.forget_former,
    "kill": services.kill,
    "status": services.status,
    "logs": show_log,
    "run": run.run,
    "wipe": data.wipe,
    "wipe_run_directory": wipe_run_directory,
    "wipe_zookeeper": wipe_zookeeper,
    "down": remove.down,
    "collect": collect.collect,
}


def answer(call: "dict[str, Any]") -> None:
    """Does the call, and sends a result or an error: also what nobody expected to go wrong is told to the caller."""
    os.umask(0o022)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    supervisor.raise_limits()  # what we run, such as a benchmark or a check of the machine, has the limits of a node
    try:
        arguments = call["arguments"]
        place = Place(arguments["directory"], arguments["cluster"])
        if call["verb"] in lock.CHANGING:
            lock.take(place, arguments["holder"])
        tell({"result": VERBS[call["verb"]](place, arguments)})
    except Trouble as trouble:
        tell({"error": str(trouble), "code": trouble.code})
    except BrokenPipeError:
        pass
    except OSError as error:
        tell({"error": str(error), "code": 3})
    except Exception:  # pylint: disable=broad-except
        tell({"error": traceback.format_exc(), "code": 3})
