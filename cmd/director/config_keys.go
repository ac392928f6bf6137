package main

import (
	"fmt"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
)

// makeSealer returns the sealer of private keys with the key-encryption keys of the settings.
func (c *Config) makeSealer() (*token.Sealer, error) {
	if len(c.KEKs) == 0 {
		return nil, cli.Usage(fmt.Errorf("there is no key-encryption key: set DIRECTOR_KEY_ENCRYPTION_KEY to 32 bytes in base64, " +
			"the same in every replica and worker ('openssl rand -base64 32' makes one)"))
	}
	return token.NewSealer(c.KEKs...)
}

// useKEKsOf puts the key of a data directory, which the first call creates, before those of the settings: what `dev`
// keeps in its Postgres is sealed with one key, whichever settings a run of `dev` or another command has. The keys of
// the settings still open what they sealed.
func (c *Config) useKEKsOf(data dataDir) error {
	own, err := data.ensureKEKs()
	c.KEKs = append(own, c.KEKs...)
	return err
}

// keySchedule returns the rotation schedule of the signing keys. It needs the lifetime of tokens, because a key is
// published until its last token has expired.
func (c *Config) keySchedule() keyring.Schedule {
	schedule := keyring.DefaultSchedule()
	schedule.TokenTTL = c.Database.Timing.TokenTTL
	return schedule
}
