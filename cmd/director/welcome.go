package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/server"
)

// welcome says where everything is, and what to try first.
func (d *developing) welcome(s *server.Server) {
	scheme := "http"
	if d.conf.TLSCert != "" {
		scheme = "https"
	}
	api := scheme + "://" + s.Addr().String()
	fmt.Fprintf(d.stdout, `
Lattice Director %s, for development

  API      %s    its description: %s/docs
  Metrics  http://%s/metrics
  Data     %s
  SQL      %s

Be a game server. It is alive for %s after each heartbeat:

  curl -s %s/fleet/register%s -H 'Content-Type: application/json' \
    -d '{"instance_id": "my-server", "endpoint": "127.0.0.1:7777", "region": "local", "modes": ["duel"], "capacity": 64}'
  while sleep 5; do curl -s %s/fleet/heartbeat%s -H 'Content-Type: application/json' -d '{"instance_id": "my-server"}'; done

Be a player:

  %s
  curl -s %s/matchmake -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' -d '{"region": "local", "mode": "duel"}'

Look at it: %s    Ctrl-C ends all of it%s

`, buildVersion().Version, api, api, s.MetricsAddr(), d.data, d.sql(), brief(d.conf.LeaseTTL),
		api, d.fleetHeader(), api, d.fleetHeader(), d.login(), api, d.command("fleet list"), d.kept())
}

func (d *developing) kept() string {
	if d.private != nil {
		return "; the data stays."
	}
	return "."
}

func (d *developing) sql() string {
	if d.private != nil {
		return "psql '" + d.conf.DatabaseURL + "'"
	}
	return withoutPassword(d.conf.DatabaseURL)
}

func (d *developing) fleetHeader() string {
	if len(d.conf.FleetTokens) > 0 {
		return ` -H "X-Fleet-Token: $DIRECTOR_FLEET_TOKEN"`
	}
	return ""
}

func (d *developing) login() string {
	if d.conf.from("auth-jwks") != fromDefault {
		return "alice=…  # an access token that " + string(d.conf.from("auth-jwks")) + " verifies"
	}
	return "alice=$(" + d.command("token mint --sub alice") + ")"
}

// command is how to call this program from another terminal.
func (d *developing) command(args string) string {
	name := "director"
	self, err := os.Executable()
	if found, missing := exec.LookPath(name); err == nil && (missing != nil || found != self) {
		name = quote(self)
	}
	if usual, err := pglocal.DefaultDir(); err != nil || string(d.data) != usual {
		args += " --data " + quote(string(d.data))
	}
	return name + " " + args
}

// quote protects a word from the shell where it needs that.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
