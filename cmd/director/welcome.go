package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/server"
)

// printWelcome prints where to look and where to call, and how to get everything else.
func (d *devRun) printWelcome(s *server.Server) {
	fmt.Fprintf(d.stdout, `
Lattice Director %s, for development. Ctrl-C stops everything%s.

  Console  %s
  API      %s
  Data     %s

All addresses, and commands to try: %s

`, buildVersion().Version, d.keptData(), d.consoleLink(s.ConsoleAddr()), d.apiURL(s), d.dataDir, d.exampleCommand("dev hints"))
}

// urlScheme is that of all listeners: one certificate serves them.
func (d *devRun) urlScheme() string {
	if d.conf.config.Server.TLSCert != "" {
		return "https"
	}
	return "http"
}

func (d *devRun) apiURL(s *server.Server) string { return d.urlScheme() + "://" + s.Addr().String() }

// hintsText are all addresses, and commands to try first: what director dev hints prints.
func (d *devRun) hintsText(s *server.Server) string {
	scheme, api := d.urlScheme(), d.apiURL(s)
	lobby := strings.Replace(scheme, "http", "ws", 1) + "://" + s.RealtimeAddr().String()
	return fmt.Sprintf(`  Console  %s
  API      %s    documentation: %s/docs
  Rivalis  %s://%s    %s    region: %s
  Bevygap  nats://%s    for game servers with its plugin; clients: %s/matchmaker/ws
  Lobby    %s    project: %s    control API: %s://%s    token: %s
  Metrics  http://%s/metrics
  Data     %s
  SQL      %s

Act as a game server. Its lease lasts %s after each heartbeat:

  curl -s %s/fleet/register%s -H 'Content-Type: application/json' \
    -d '{"instance_id": "my-server", "endpoint": "127.0.0.1:7777", "region": "local", "modes": ["duel"], "capacity": 64}'
  while sleep 5; do curl -s %s/fleet/heartbeat%s -H 'Content-Type: application/json' -d '{"instance_id": "my-server"}'; done

Act as a player:

  %s
  curl -s %s/matchmake -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' -d '{"region": "local", "mode": "duel"}'

Join a lobby (Node.js 22 or newer), and see what its members get:

  ada=$(%s)
  node -e 'const ws = new WebSocket("%s"); ws.onmessage = (m) => console.log(m.data); ws.onopen = () => {
    for (const frame of [{codecs: ["json"], token: process.argv[1]}, {t: "room.join_or_create", rid: "1", p: {roomType: "lobby"}}])
      ws.send(JSON.stringify({v: 1, ...frame})) }' "$ada"

%sList the game servers: %s
Log each request: start director dev with --log-level info
`, d.consoleLink(s.ConsoleAddr()), api, api, scheme, s.OrchestratorAddr(), d.rivalisKeys(), d.conf.config.Orchestrator.Options.Region,
		s.NATSAddr(), strings.Replace(api, "http", "ws", 1), lobby, nexisDemoProject, scheme, s.RealtimeControlAddr(),
		d.internalToken(), s.MetricsAddr(), d.dataDir, d.sqlHint(),
		briefDuration(d.conf.config.Database.Timing.LeaseTTL),
		api, d.fleetHeader(), api, d.fleetHeader(), d.loginHint(), api,
		d.lobbyToken(scheme+"://"+s.RealtimeControlAddr().String()), lobby, d.browserHint(),
		d.exampleCommand("fleet list"))
}

// rivalisKeys says where the keys are, and does not print them.
func (d *devRun) rivalisKeys() string {
	return "keys: as configured, else in " + d.dataDir.pathOf("agent-key") + " and " + d.dataDir.pathOf("admin-key")
}

// internalToken is the token of the control API if it is that of Nexis, which is no secret; otherwise the name of the
// variable, since the terminal's output may be shared.
func (d *devRun) internalToken() string {
	if slices.Contains(d.conf.config.Projects.Options.Tokens, nexisInternalToken) {
		return nexisInternalToken
	}
	return "$DIRECTOR_REALTIME_INTERNAL_TOKEN"
}

// keptData says what Ctrl-C does not end: a database of somebody else is not ours to mention.
func (d *devRun) keptData() string {
	if d.privateCluster != nil {
		return " and keeps the data"
	}
	return ""
}

// sqlHint is a command for the private Postgres; of another server it is only the address.
func (d *devRun) sqlHint() string {
	if d.privateCluster != nil {
		return "psql '" + d.conf.config.Database.URL + "'"
	}
	return withoutPassword(d.conf.config.Database.URL) // of somebody else's server: its password is not printed
}

// fleetHeader names the variable and not the token: the hints are in a file.
func (d *devRun) fleetHeader() string {
	if len(d.conf.config.Server.FleetTokens) > 0 {
		return ` -H "X-Fleet-Token: $DIRECTOR_FLEET_TOKEN"`
	}
	return ""
}

// loginHint makes a token with the development key, unless another login's keys verify.
func (d *devRun) loginHint() string {
	if d.conf.sourceOf("auth-jwks") != fromDefault {
		return "alice=…  # an access token that " + string(d.conf.sourceOf("auth-jwks")) + " verifies"
	}
	return "alice=$(" + d.exampleCommand("token mint --sub alice") + ")"
}

// browserHint says how to play in a browser, if the page's players can log in here and its origin is allowed.
func (d *devRun) browserHint() string {
	if d.conf.sourceOf("auth-jwks") != fromDefault || d.privateCluster == nil ||
		!slices.Contains(d.conf.config.Server.CORSOrigins, pageOrigins[0]) {
		return ""
	}
	command := "make browser"
	if usual, err := pglocal.DefaultDir(); err != nil || string(d.dataDir) != usual {
		command += " DATA=" + quoteForShell(string(d.dataDir))
	}
	return "Play in a browser, from the source tree (needs npm): " + command + "\n\n"
}

// lobbyToken returns the shell command that prints a token for the lobby. Commands know the secrets of `dev` only where
// they find it by its data.
func (d *devRun) lobbyToken(control string) string {
	if d.privateCluster != nil {
		return d.exampleCommand("projects token " + nexisDemoProject + " " + nexisDemoKey + " --sub ada")
	}
	return "curl -s " + control + "/tokens -H \"x-nexis-internal-token: " + d.internalToken() +
		"\" -H 'Content-Type: application/json' \\\n" +
		`    -d '{"project_id": "` + nexisDemoProject + `", "key_id": "` + nexisDemoKey + `", "sub": "ada"}' | jq -r .token`
}

// exampleCommand returns the shell command that runs this program from another terminal.
func (d *devRun) exampleCommand(args string) string {
	name := "director"
	self, err := os.Executable()
	// The whole path, unless the shell finds this same program by its name.
	if found, missing := exec.LookPath(name); err == nil && (missing != nil || found != self) {
		name = quoteForShell(self)
	}
	// A command in another terminal finds only the usual directory by itself.
	if usual, err := pglocal.DefaultDir(); err != nil || string(d.dataDir) != usual {
		args += " --data " + quoteForShell(string(d.dataDir))
	}
	return name + " " + args
}

// quoteForShell quotes a word for a POSIX shell, if needed.
func quoteForShell(word string) string {
	// Without =, which zsh expands at the beginning of a word.
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+:,./@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// consoleLink is the address of the console. With the token that dev made, the page logs in by itself. The token
// follows #, which browsers do not send: no proxy or server logs it.
func (d *devRun) consoleLink(addr net.Addr) string {
	link := d.urlScheme() + "://" + addr.String() + "/"
	for _, one := range d.conf.config.Server.OpsTokens {
		if secret, found := strings.CutPrefix(one, "dev="); found && d.conf.sourceOf("ops-tokens") == fromDefault {
			return link + "login#token=" + url.QueryEscape(secret)
		}
	}
	return link
}

// pageOrigins are the origins of examples/browser, and of other pages that Vite serves in development.
var pageOrigins = []string{"http://127.0.0.1:5173", "http://localhost:5173"}
