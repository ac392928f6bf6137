package sdk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Deployment is what a game server finds in its environment when the director has started it by a provider.
type Deployment struct {
	// URLs are of the director's replicas, for [Options].
	URLs []string
	// Server names the instance, its region, modes and capacity, and has the deployment's own token. It has no
	// Endpoint: the director says it. Add what the game knows, such as Load, and pass it to [Start].
	Server ServerOptions
	// Ports are what the server binds, by name: lower case, with - between words.
	Ports map[string]int
	// EndsAt is when the server has to be gone; zero if that was not known when it started.
	EndsAt time.Time
	// NetcodeKey and ProtocolID are for connect tokens; nil and 0 for apps without them. The key is secret.
	NetcodeKey []byte
	ProtocolID uint64
}

const portPrefix = "LATTICE_PORT_"

// Deployed reads an environment, as os.Environ returns it. A server that nobody deployed finds no LATTICE_DEPLOYMENT_ID
// in it, and deployed is false. Errors: a variable that is missing or wrong, which no director of this release gives.
func Deployed(environ []string) (d Deployment, deployed bool, err error) {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	if env["LATTICE_DEPLOYMENT_ID"] == "" {
		return Deployment{}, false, nil
	}
	for _, name := range []string{"DIRECTOR_URL", "FLEET_TOKEN", "LATTICE_REGION", "LATTICE_MODES",
		"LATTICE_CAPACITY"} {
		if env[name] == "" {
			return Deployment{}, true, fmt.Errorf("sdk: %s is missing in the environment of a deployment", name)
		}
	}
	d.URLs = strings.Split(env["DIRECTOR_URL"], ",")
	d.Server = ServerOptions{
		InstanceID: env["LATTICE_DEPLOYMENT_ID"], Region: env["LATTICE_REGION"],
		Modes: strings.Split(env["LATTICE_MODES"], ","), FleetToken: env["FLEET_TOKEN"],
		ProviderRef: providerRef(env),
	}
	d.Server.Capacity, err = strconv.Atoi(env["LATTICE_CAPACITY"])
	if err != nil {
		return Deployment{}, true, errors.New("sdk: LATTICE_CAPACITY is no number")
	}
	if err := d.readPorts(env); err != nil {
		return Deployment{}, true, err
	}
	err = d.readOptional(env)
	return d, true, err
}

// providerRef returns LATTICE_PROVIDER_REF. A game server of Agones has the director's tag in its environment, and its
// name from the fleet's template.
func providerRef(env map[string]string) string {
	name, tag := env["LATTICE_GAME_SERVER"], env["LATTICE_PROVIDER_TAG"]
	if ref := env["LATTICE_PROVIDER_REF"]; ref != "" || name == "" || tag == "" {
		return ref
	}
	return name + "/" + tag
}

func (d *Deployment) readPorts(env map[string]string) error {
	d.Ports = map[string]int{}
	for name, value := range env {
		port, found := strings.CutPrefix(name, portPrefix)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return fmt.Errorf("sdk: %s is no port", name)
		}
		d.Ports[strings.ToLower(strings.ReplaceAll(port, "_", "-"))] = int(n)
	}
	return nil
}

// readOptional reads the variables that not every deployment has. Its errors hold no value: the key is secret.
func (d *Deployment) readOptional(env map[string]string) (err error) {
	if at := env["LATTICE_ENDS_AT"]; at != "" {
		if d.EndsAt, err = time.Parse(time.RFC3339, at); err != nil {
			return errors.New("sdk: LATTICE_ENDS_AT is no time in RFC 3339")
		}
	}
	if key := env["LATTICE_NETCODE_KEY"]; key != "" {
		if d.NetcodeKey, err = hex.DecodeString(key); err != nil {
			return errors.New("sdk: LATTICE_NETCODE_KEY is not in hex")
		}
	}
	if id := env["LATTICE_PROTOCOL_ID"]; id != "" {
		if d.ProtocolID, err = strconv.ParseUint(id, 10, 64); err != nil {
			return errors.New("sdk: LATTICE_PROTOCOL_ID is no number of 64 bits")
		}
	}
	return nil
}
