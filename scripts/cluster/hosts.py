"""Asks hosts to do what agent/ can do. Each call starts an agent there, through ssh or, on this host, as a process."""

import base64
import json
import shlex
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Callable, Iterable, Optional, Protocol, TypeVar

from .agent.lock import CHANGING
from .errors import HostError
from .inventory import Access, HostEntry, Inventory, Node

# This program loads the agent's modules from the call, so that a host needs nothing but Python. It runs isolated (-I),
# since Python otherwise looks for its own modules in the working directory first, which may belong to another user.
BOOTSTRAP = """
import sys,json,importlib.abc as a,importlib.util as u
call=json.loads(sys.stdin.buffer.readline());sources=call.pop("modules")
class Loader(a.MetaPathFinder,a.Loader):
 def find_spec(s,n,p=None,t=None): return u.spec_from_loader(n,s,is_package=n=="agent") if n in sources else None
 def exec_module(s,m): exec(compile(sources[m.__name__],m.__name__,"exec"),m.__dict__)
sys.meta_path.insert(0,Loader())
import agent.main;agent.main.answer(call)
"""

CLOSING_S = 5.0  # how long one step of closing a connection may take

Event = Callable[["dict[str, Any]"], None]
T = TypeVar("T")


class Source(Protocol):
    """Is what follows a call, such as a file that is open."""

    def read(self, size: int, /) -> bytes: ...


def agent_modules() -> "dict[str, str]":
    """Returns the sources of the agent, by module."""
    folder = Path(__file__).with_name("agent")
    return {"agent" if path.stem == "__init__" else f"agent.{path.stem}": path.read_text(encoding="utf-8")
            for path in sorted(folder.glob("*.py"))}


class Host:
    """Is a host of the inventory. Unlike SshHost, it is this host, and its agent is a process here."""

    def __init__(self, cluster: str, entry: HostEntry, modules: "dict[str, str]") -> None:
        self.cluster = cluster
        self.entry = entry
        self.modules = modules
        self.holder = 0  # the process that holds the host for us; see holding.py
        self.under_way: "list[str]" = []  # what it does to its end, such as "restart node-1"

    @property
    def label(self) -> str:
        return self.entry.access.label

    @property
    def nodes(self) -> "list[Node]":
        return self.entry.nodes

    def command(self) -> "list[str]":
        """Returns the command that runs the agent there."""
        return [sys.executable, "-I", "-B", "-c", BOOTSTRAP]

    def call(self, verb: str, arguments: "Optional[dict[str, Any]]" = None, payload: Optional[Source] = None,
             on_event: Optional[Event] = None) -> "dict[str, Any]":
        """Returns the result of a verb of agent/main.py. A HostError says what went wrong there."""
        ours = {"directory": self.entry.install_directory, "cluster": self.cluster, "holder": self.holder}
        call = {"modules": self.modules, "verb": verb, "arguments": ours | (arguments or {})}
        command = self.command()  # the host does nothing before it is reached
        words = [" ".join([verb, *(arguments or {}).get("services", [])])] if verb in CHANGING else []
        self.under_way.extend(words)
        try:
            return self._call(command, call, payload, on_event)
        finally:
            for each in words:
                self.under_way.remove(each)

    @staticmethod
    def _call(command: "list[str]", call: "dict[str, Any]", payload: Optional[Source],
              on_event: Optional[Event]) -> "dict[str, Any]":
        # Ctrl-C signals all processes of the terminal's session, but the agent has to do its work to the end: a node
        # that it has stopped is to be started again.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        said: "list[bytes]" = []
        threads = [threading.Thread(target=_send, args=(process, call, payload)),
                   threading.Thread(target=lambda: said.append(process.stderr.read()))]
        for thread in threads:
            thread.start()
        try:
            answer = _listen(process, on_event)
        finally:
            if process.poll() is None and process.stdout.closed:
                process.terminate()
            process.stdout.close()
            code = process.wait()
            for thread in threads:
                thread.join()
        if answer is None:
            words = b"".join(said).decode(errors="replace").strip().splitlines()
            raise HostError(words[-1] if words else f"no answer, exit code {code}")
        if "error" in answer:
            raise HostError(answer["error"], answer.get("code", 3))
        return answer["result"]


def _send(process: subprocess.Popen, call: "dict[str, Any]", payload: Optional[Source]) -> None:
    try:
        process.stdin.write(json.dumps(call).encode() + b"\n")
        if payload is not None:
            while chunk := payload.read(1 << 20):
                process.stdin.write(chunk)
                process.stdin.flush()
        process.stdin.close()
    except BrokenPipeError:  # the agent has ended, and says why
        pass


def _listen(process: subprocess.Popen, on_event: Optional[Event]) -> "Optional[dict[str, Any]]":
    """Returns the last message; None if the agent ends without one."""
    for line in process.stdout:
        try:
            message = json.loads(line)
        except ValueError:  # a host may print anything at each login
            continue
        if not isinstance(message, dict):
            continue
        if "result" in message or "error" in message:
            return message
        if "chunk" in message:
            message["chunk"] = base64.b64decode(message["chunk"])
        if on_event is not None:
            on_event(message)
    return None


class SshHost(Host):
    """Is reached by OpenSSH, with one connection that all calls share."""

    def __init__(self, cluster: str, entry: HostEntry, modules: "dict[str, str]", ssh: "Ssh") -> None:
        super().__init__(cluster, entry, modules)
        self.ssh = ssh

    def command(self) -> "list[str]":
        self.ssh.connect(self.entry.access)
        return self.ssh.command(self.entry.access, f"exec python3 -I -B -c {shlex.quote(BOOTSTRAP)}")


class Ssh:
    """Keeps the connections of one run of cluster.sh, which are closed at its end."""

    def __init__(self, accept_new: bool, config: Optional[str]) -> None:
        self.options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
                        "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
        if accept_new:
            self.options += ["-o", "StrictHostKeyChecking=accept-new"]
        if config is not None:
            self.options += ["-F", config]
        self.one_looks = threading.Lock()  # it guards all that is below
        self.folder: "Optional[tempfile.TemporaryDirectory[str]]" = None  # it is made with the first connection
        self.locks: "dict[Access, threading.Lock]" = {}
        self.connected: "set[Access]" = set()
        self.connecting: "dict[Access, subprocess.Popen[bytes]]" = {}
        self.closed = False

    def command(self, access: Access, remote: str) -> "list[str]":
        return ["ssh", "-T", *self._common(access), "--", access.address, remote]

    def _common(self, access: Access) -> "list[str]":
        user = ["-l", access.user] if access.user else []
        assert self.folder is not None
        return [*self.options, "-S", f"{self.folder.name}/%C", "-p", str(access.port), *user]

    def connect(self, access: Access) -> None:
        """Makes the connection that later commands share. A HostError tells in the words of ssh why it refuses."""
        with self.one_looks:
            lock = self.locks.setdefault(access, threading.Lock())
        with lock:
            if access in self.connected:
                return
            with tempfile.TemporaryFile() as said:
                process = self._begin(access, said)
                code = process.wait()
                said.seek(0)
                words = said.read().decode(errors="replace").strip().splitlines()
            with self.one_looks:
                del self.connecting[access]
                if code == 0:
                    self.connected.add(access)
            if code != 0:
                raise HostError(f"ssh: {words[-1] if words else f'exit code {code}'}")

    def _begin(self, access: Access, said: "IO[bytes]") -> "subprocess.Popen[bytes]":
        """Starts the process that makes the connection and then leaves it to another in the background."""
        with self.one_looks:
            if self.closed:
                raise HostError("no connection is made any more, since the command ends")
            if self.folder is None:
                self.folder = tempfile.TemporaryDirectory(prefix="granary-ssh-")
            command = ["ssh", "-M", "-N", "-f", "-o", "ControlPersist=yes", *self._common(access), "--", access.address]
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            except FileNotFoundError as error:
                raise HostError("there is no ssh client here; install Debian's package openssh-client") from error
            self.connecting[access] = process
            return process

    def close(self) -> None:
        """Closes all connections, also one that another thread is making."""
        with self.one_looks:
            self.closed = True
            locks = list(self.locks.values())
            open_ones = self.connected | set(self.connecting)
            for process in self.connecting.values():
                process.terminate()  # one that has left its connection to the background has ended
        for lock in locks:
            if lock.acquire(timeout=CLOSING_S):  # then the thread that connects has noticed the end
                lock.release()
        for access in open_ones:
            try:
                subprocess.run(["ssh", "-O", "exit", *self._common(access), "--", access.address],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               check=False, timeout=CLOSING_S)
            except subprocess.TimeoutExpired:
                pass
        if self.folder is not None:
            self.folder.cleanup()


def all_hosts(inventory: Inventory, ssh: Ssh) -> "list[Host]":
    modules = agent_modules()
    name = inventory.name
    return [SshHost(name, entry, modules, ssh) if entry.access.address else Host(name, entry, modules)
            for entry in inventory.hosts]


def on_all(hosts: "Iterable[Host]", action: "Callable[[Host], T]") -> "list[tuple[Host, T | HostError]]":
    """Does something on all hosts at the same time, and returns each one's result. A host that fails does not stop the
    others.
    """

    def one(host: Host) -> "T | HostError":
        try:
            return action(host)
        except HostError as error:
            return error

    several = list(hosts)
    with ThreadPoolExecutor(max(1, len(several))) as pool:
        return list(zip(several, pool.map(one, several)))
