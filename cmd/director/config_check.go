package main

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// checkCommon checks the settings that both replicas and workers need. Checks of several settings come after each was
// read alone, and are no part of loadSettings: `serve --print-config` shows what is set also where it would not start.
func (c *Config) checkCommon() error {
	var missing []error
	if c.Database.URL == "" {
		missing = append(missing, errors.New("there is no database: set DATABASE_URL, such as "+
			"postgres://director@db.internal/director "+
			"('director dev' starts its own)"))
	} else if _, err := pgx.ParseConfig(c.Database.URL); err != nil {
		missing = append(missing, err)
	}
	// Made and dropped: only its error counts here, together with the others.
	if _, err := c.makeSealer(); err != nil {
		missing = append(missing, err)
	}
	// With a shorter period, a key would have to sign before verifiers know it.
	if lead := c.keySchedule().Policy().Lead; c.KeySchedule.KeyPeriod < lead {
		missing = append(missing, fmt.Errorf("--key-period / DIRECTOR_KEY_PERIOD: %s is too short: a key is "+
			"published for %s before it signs, "+
			"which follows from DIRECTOR_JWKS_MAX_AGE", briefDuration(c.KeySchedule.KeyPeriod), briefDuration(lead)))
	}
	return errors.Join(append(missing, c.checkProvision())...)
}

// checkServe checks the settings that only replicas need. A replica that serves Open Match, Rivalis, the realtime lobby
// or guests of bevygap need not serve anything else.
func (c *Config) checkServe() error {
	missing := []error{c.checkCommon()}
	// Without any of these, a replica without a key set would serve no players: somebody forgot the setting.
	alone := len(c.OpenMatch.Addrs) > 0 || c.Orchestrator.Options.Addr != "" || c.BevygapPlayers == bevygapGuests ||
		c.Realtime.Addr != "" || c.Projects.Addr != ""
	if !alone && c.JWKS == "" {
		missing = append(missing, errors.New("there is no key set to verify players' access tokens with: set "+
			"DIRECTOR_AUTH_JWKS "+
			"to your login's JWKS, as an https URL, a file or JSON"))
	}
	// The error of the listener would name a file, and not the missing setting.
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		missing = append(missing, errors.New("TLS needs both a certificate and its key: set DIRECTOR_TLS_CERT and "+
			"DIRECTOR_TLS_KEY, or neither"))
	}
	missing = append(missing, c.checkOpenMatch(), c.checkOrchestrator(), c.checkBevygap(), c.checkRealtime(),
		c.checkConsole())
	return errors.Join(missing...)
}
