package serverenv

import (
	"errors"
	"strings"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
)

// Schemes of Settings.NATSURL.
const (
	PlainNATS  = "nats://"
	SecureNATS = "tls://"
)

// addNATS adds where bevygap's plugin finds NATS, and as whom it connects. The plugin demands TLS unless NATS_INSECURE
// is set.
func (s Settings) addNATS(env provider.Env, name token.Deployment) error {
	host, plain := strings.CutPrefix(s.NATSURL, PlainNATS)
	if !plain {
		var secure bool
		if host, secure = strings.CutPrefix(s.NATSURL, SecureNATS); !secure {
			return errors.New("compat: bevygap needs DIRECTOR_BEVYGAP_NATS_URL, where its game servers reach the " +
				"director")
		}
	}
	env["NATS_HOST"], env["NATS_USER"] = host, name.ID
	env["NATS_PASSWORD"] = string(s.Sealer.ServerTokens().Token(token.ForFleet, name))
	if plain {
		env["NATS_INSECURE"] = "1"
	}
	return nil
}
