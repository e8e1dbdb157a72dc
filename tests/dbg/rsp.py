"""A client of GDB's remote serial protocol, as much of it as tests need, and the program that it debugs."""
import os
import socket
import subprocess
import time


class Closed(Exception):
    """The other side has hung up."""


class Client:
    def __init__(self, at, timeout=60):
        """`at`: the path of a socket, or a port of this machine."""
        self.socket = socket.socket(socket.AF_INET if isinstance(at, int) else socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", at) if isinstance(at, int) else at)
        self.data = b""

    def close(self):
        self.socket.close()

    def raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Closed(error) from error

    def send(self, packet):
        data = packet if isinstance(packet, bytes) else packet.encode("latin1")
        self.raw(b"$" + data + b"#%02x" % (sum(data) & 255))

    def receive(self):
        """The next packet, acknowledged."""
        while True:
            self.data = self.data.lstrip(b"+-")
            end = self.data.find(b"#")
            if self.data[:1] == b"$" and 0 < end <= len(self.data) - 3:
                packet, self.data = self.data[1:end], self.data[end + 3:]
                try:
                    self.raw(b"+")
                except Closed:
                    pass  # it was the last one
                out, escaped = bytearray(), False
                for byte in packet:
                    if escaped:
                        out.append(byte ^ 0x20)
                    elif byte == ord("}"):
                        escaped = True
                        continue
                    else:
                        out.append(byte)
                    escaped = False
                return out.decode("latin1")
            try:
                more = self.socket.recv(65536)
            except ConnectionError as error:
                raise Closed(error) from error
            if not more:
                raise Closed("end")
            self.data += more

    def ask(self, packet):
        self.send(packet)
        return self.receive()

    def monitor(self, text):
        return bytes.fromhex(self.ask("qRcmd," + text.encode().hex()).replace("OK", "")).decode()

    def transfer(self, thing):
        text = ""
        while True:
            got = self.ask("qXfer:%s:read:%s:%x,1000" % (thing[0], thing[1], len(text)))
            text += got[1:]
            if got[:1] != "m":
                return text

    def go(self, action="vCont;c"):
        """Goes on to the next stop; text for the user is skipped."""
        self.send(action)
        while True:
            got = self.receive()
            if got[:1] != "O":
                return got

    def run(self):
        """To the end, whatever stops on the way; how many stops that were, and the last answer."""
        stops, got = 0, self.go()
        while got[:1] == "T":
            stops += "library" not in got
            got = self.go()
        return stops, got


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Target:
    """A program that waits for its debugger."""

    def __init__(self, heddle, program, folder, *args, env=None):
        self.path = os.path.join(folder, "socket-%d" % time.monotonic_ns())
        self.process = subprocess.Popen([heddle, "run", "--gdbserver", "unix:" + self.path, program, *args],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                                        stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path) and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)

    @classmethod
    def on_tcp(cls, heddle, program, folder, *args, env=None):
        """At the port `path`."""
        self = cls.__new__(cls)
        self.path = free_port()
        log = os.path.join(folder, "tcp-%d" % self.path)
        with open(log, "w") as stderr:
            self.process = subprocess.Popen([heddle, "run", "--gdbserver", ":%d" % self.path, program, *args],
                                            stdout=subprocess.PIPE, stderr=stderr, text=True, env=env,
                                            stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while os.path.getsize(log) == 0 and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return self

    def connect(self):
        return Client(self.path)

    def end(self, timeout=60):
        """What it printed; None: it hangs."""
        try:
            return self.process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return None
