package main

import (
	"errors"

	"github.com/jackc/pgx/v5"
)

// need is what settings lack, and what to set then.
type need struct {
	isUnmet bool
	text    string
}

// unmetNeeds names all that is lacking at once, so that nobody has to start the program again for each.
func unmetNeeds(needs ...need) error {
	var missing []error
	for _, n := range needs {
		if n.isUnmet {
			missing = append(missing, errors.New(n.text))
		}
	}
	return errors.Join(missing...)
}

// checkCommon checks the settings that both replicas and workers need. Checks of several settings come after each was
// read alone, and are no part of loadSettings: `serve --print-config` shows what is set also where it would not start.
func (c *Config) checkCommon() error {
	_, badURL := pgx.ParseConfig(c.Database.URL)
	// pgx takes an empty URL for the defaults of libpq; here it is a setting that was forgotten.
	if c.Database.URL == "" {
		badURL = errors.New("there is no database: set DATABASE_URL, such as " +
			"postgres://director@db.internal/director ('director dev' starts its own)")
	}
	// The sealer is dropped: only its error counts here.
	_, badKeys := c.makeSealer()
	return errors.Join(badURL, badKeys, c.checkProvision())
}

// checkServe checks the settings that only replicas need. A replica that serves Open Match, Rivalis, the realtime lobby
// or guests of bevygap need not serve anything else.
func (c *Config) checkServe() error {
	servesOthers := len(c.OpenMatch.Addrs) > 0 || c.Orchestrator.Options.Addr != "" ||
		c.BevygapPlayers == bevygapGuests || c.Realtime.Addr != "" || c.Projects.Addr != ""
	return errors.Join(c.checkCommon(), unmetNeeds(
		// Without both, the replica would serve nobody: somebody forgot the setting.
		need{!servesOthers && c.JWKS == "", "there is no key set to verify players' access tokens with: set " +
			"DIRECTOR_AUTH_JWKS to your login's JWKS, as an https URL, a file or JSON"},
		// The error of the listener would name a file, and not the missing setting.
		need{(c.Server.TLSCert == "") != (c.Server.TLSKey == ""), "TLS needs both a certificate and its key: set " +
			"DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY, or neither"},
	), c.checkOpenMatch(), c.checkOrchestrator(), c.checkBevygap(), c.checkRealtime(), c.checkConsole())
}
