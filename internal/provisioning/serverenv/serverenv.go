// Package serverenv makes the environment of deployed game servers: where the director is, the credential that speaks
// for one deployment, and what the server offers. It is a pure function of a deployment, its app version and the
// director's settings.
package serverenv

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// Environment returns the environment of a server, and the URL of its webhook, which is secret: it authorizes its
// caller. Variables of the app version do not replace the director's. Errors: token.ErrSealed, a version with a dialect
// and a server without a key, bevygap's servers without a NATSURL.
func (s Settings) Environment(d Server, v provision.AppVersion) (provider.Env, provider.Secret, error) {
	name := token.Deployment{Region: d.Region, ID: d.ID.String()}
	tokens := s.Sealer.ServerTokens()
	env := make(provider.Env, len(v.Env)+16)
	maps.Copy(env, v.Env)
	maps.Copy(env, provider.Env{
		"DIRECTOR_URL":          s.PublicURL,
		"FLEET_TOKEN":           string(tokens.Token(token.ForFleet, name)),
		"LATTICE_DEPLOYMENT_ID": name.ID,
		"LATTICE_REGION":        d.Region,
		"LATTICE_MODES":         strings.Join(v.Modes, ","),
		"LATTICE_CAPACITY":      strconv.Itoa(v.Capacity),
	})
	for _, p := range v.Ports {
		// provider/process replaces it by the port that it has chosen
		env[PortVariable(p.Name)] = strconv.Itoa(int(p.Internal))
	}
	if !d.EndsAt.IsZero() {
		env["LATTICE_ENDS_AT"] = d.EndsAt.UTC().Format(time.RFC3339)
	}
	if v.Compat == provision.CompatArbitrium || v.Compat == provision.CompatBevygap {
		maps.Copy(env, s.arbitriumVariables(name, v))
	}
	if v.Compat == provision.CompatBevygap {
		if err := s.addNATS(env, name); err != nil {
			return nil, "", err
		}
	}
	if err := s.addNetcode(env, d, v); err != nil {
		return nil, "", err
	}
	return env, provider.Secret(s.PublicURL + "/hooks/" + name.Region + "/" + name.ID + "/" +
		string(tokens.MAC(token.ForHook, name))), nil
}

// PortVariable returns the name of the variable that holds the port of this name.
func PortVariable(port string) string {
	return "LATTICE_PORT_" + strings.ToUpper(strings.ReplaceAll(port, "-", "_"))
}

// addNetcode adds the key with which the server opens connect tokens, also in the form in which Lightyear reads it.
func (s Settings) addNetcode(env provider.Env, d Server, v provision.AppVersion) error {
	if v.Dialect == "" {
		return nil
	}
	if len(d.SealedKey) == 0 {
		return errors.New("the deployment has no netcode key")
	}
	secret, err := s.Sealer.OpenSecret(token.PurposeNetcode, d.Region, d.ID.String(), d.SealedKey)
	if err != nil {
		return fmt.Errorf("netcode key: %w", err)
	}
	key, err := netcode.KeyOf(secret)
	if err != nil {
		return fmt.Errorf("netcode key: %w", err)
	}
	env["LATTICE_NETCODE_KEY"] = key.Hex()
	env["LATTICE_PROTOCOL_ID"] = strconv.FormatUint(v.ProtocolID, 10)
	env["LIGHTYEAR_PRIVATE_KEY"] = key.Decimals()
	return nil
}
