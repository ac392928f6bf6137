"""The game server of docs/tutorial.md without an SDK: the standard library and `cryptography`, for Ed25519."""
import base64, json, os, socketserver, sys, threading, time, urllib.error, urllib.request, uuid
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

DIRECTOR = os.environ.get("DIRECTOR", "http://localhost:8080")
ENDPOINT = os.environ.get("ENDPOINT", "127.0.0.1:7778")
INSTANCE = {"instance_id": "python-server"}  # and the incarnation, once registered
BOOT_ID = str(uuid.uuid4())  # tells a restart of this process from a retry


def call(path, body=None):
    """Calls the director until it answers. A refusal (4xx) is an answer."""
    while True:
        request = urllib.request.Request(DIRECTOR + path, json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json", "X-Fleet-Token": os.environ.get("FLEET_TOKEN", "")})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as e:
            if e.code not in (408, 429) and e.code < 500:
                return e.code, json.loads(e.read())
        except OSError:
            pass
        time.sleep(1)


def stop(answer):
    print(answer, file=sys.stderr)
    os._exit(1)  # ends all threads of the process


def register():
    body = INSTANCE | {"endpoint": ENDPOINT, "region": "local", "modes": ["duel"], "capacity": 64,
        "reports_seats": True, "boot_id": BOOT_ID, "replaces": INSTANCE.get("incarnation", "none")}
    while True:
        status, answer = call("/fleet/register", body)
        if status == 200:
            INSTANCE["incarnation"] = answer["incarnation"]
            return
        if answer["code"] != "instance_taken":
            stop(answer)  # superseded, or a wrong setting
        body["replaces"] = answer["incarnation"]


def heartbeats():
    while True:
        status, answer = call("/fleet/heartbeat", INSTANCE)
        if status == 404:
            register()  # a real server also ends all sessions: the director has closed them
        elif status == 409:
            stop(answer)  # superseded: another process has registered under this id
        time.sleep(5)


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def verify(token):
    """Returns the claims of a valid session token for this server. Raises an exception for any other text."""
    signed, signature = token.rsplit(".", 1)
    header, claims = (json.loads(decode(part)) for part in signed.split("."))
    keys = call("/.well-known/jwks.json")[1]["keys"]  # a real server caches them for the answer's max-age
    key = next(k for k in keys if k["kid"] == header["kid"] and k.get("alg", "EdDSA") == header["alg"])
    Ed25519PublicKey.from_public_bytes(decode(key["x"])).verify(decode(signature), signed.encode())
    if (claims["iss"], claims["aud"], claims["ep"]) != ("lattice-director", "lattice-gameserver", ENDPOINT):
        raise ValueError("not for this server")
    if claims["exp"] + 5 < time.time():
        raise ValueError("expired")
    return claims


class Seat:
    """The seat of one connected player, from the join to the end of the connection."""

    def __init__(self, claims):
        self.sub, self.session_id, self.connection = claims["sub"], claims["sid"], str(uuid.uuid4())
        self.result = self.report({"joined": [{"sub": self.sub, "jti": claims["jti"], "connection": self.connection}]})

    def leave(self):
        return self.report({"left": [self.sub], "left_connections": [self.connection]})

    def report(self, entries):
        status, answer = call("/fleet/seats", INSTANCE | {"session_id": self.session_id} | entries)
        return answer["results"][0]["result"] if status == 200 else answer["code"]


class Player(socketserver.StreamRequestHandler):
    """One connection: the session token is its first line, and the game is an echo."""

    def handle(self):
        try:
            claims = verify(self.rfile.readline(4096).decode().strip())
        except Exception as e:
            return self.send(f"refused: {e or type(e).__name__}")
        seat = Seat(claims)
        if seat.result != "ok":
            return self.send(f"refused: {seat.result}")
        print(seat.sub, "joins", seat.session_id, flush=True)
        try:
            self.send(f"welcome {seat.sub} to a {claims['mode']} for {claims['max_players']}")
            for line in self.rfile:
                self.send("you said: " + line.decode().strip())
        except OSError:
            pass  # the connection broke
        finally:
            seat.leave()
        print(seat.sub, "leaves", flush=True)

    def send(self, line):
        self.wfile.write((line + "\n").encode())


if __name__ == "__main__":
    host, port = ENDPOINT.rsplit(":", 1)
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer((host, int(port)), Player) as server:
        ENDPOINT = f"{host}:{server.server_address[1]}"  # port 0 means any free port
        register()
        print(f"process {os.getpid()} is registered; players connect to {ENDPOINT}", flush=True)
        threading.Thread(target=heartbeats, daemon=True).start()
        server.serve_forever()
