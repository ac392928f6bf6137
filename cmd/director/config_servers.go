package main

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/provisioning/serverenv"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/token"
)

// localOwner is the owner if the setting is missing. checkProvision accepts that only for the providers process and
// manual, whose servers no other installation can list.
const localOwner = "local"

// deploymentOwner returns the owner of the deployments of this installation.
func (c *Config) deploymentOwner() (provider.Owner, error) {
	return provider.OwnerOf(cmp.Or(c.ProvisionOwner, localOwner))
}

// replicasURL returns where game servers reach the replicas, without a slash at its end, since paths are appended. Game
// servers on this machine use the address of the API; listening is where this process serves it, nil if it does not.
func (c *Config) replicasURL(listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	scheme := "http://"
	if c.Server.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + localAddr(c.Server.Addr, listening)
}

// localAddr returns the address of a listener for programs of this machine. configured counts unless listening says
// where this process really listens.
func localAddr(configured string, listening net.Addr) string {
	if listening != nil {
		configured = listening.String()
	}
	// Without its error: addressValue has checked a setting, and a listener's address has this form.
	host, port, _ := net.SplitHostPort(configured)
	// 0.0.0.0 and :: are addresses to listen on, not to dial.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// natsURL returns where game servers with bevygap's plugin connect, "" if that is not known. Those of this machine use
// the address at which this process serves them.
func (c *Config) natsURL(listening net.Addr) string {
	// Servers that run elsewhere cannot reach the address of this machine: without the setting, theirs is not known.
	if c.NATSURL != "" || c.needsPublicURL() || c.NATS.Addr == "" {
		return c.NATSURL
	}
	scheme := serverenv.PlainNATS
	if c.Server.TLSCert != "" {
		scheme = serverenv.SecureNATS
	}
	return scheme + localAddr(c.NATS.Addr, listening)
}

// serverSettings returns what the environments of all deployed servers share.
func (c *Config) serverSettings(listening listenAddrs, sealer *token.Sealer) serverenv.Settings {
	return serverenv.Settings{PublicURL: c.replicasURL(listening.api), NATSURL: c.natsURL(listening.nats),
		Sealer: sealer}
}

// usesProvider reports whether this process starts servers through a provider.
func (c *Config) usesProvider(name string) bool { return slices.Contains(c.ProviderNames, name) }

// needsPublicURL reports whether game servers may run on other machines. Those that people start by hand may,
// except with `director dev`.
func (c *Config) needsPublicURL() bool {
	return slices.ContainsFunc(c.ProviderNames, func(name string) bool {
		return name != providerProcess && (name != providerManual || !c.isDevelopment)
	})
}

// checkProvision refuses settings with which the providers could not work.
func (c *Config) checkProvision() error {
	// Installations may share an account or an engine of a remote provider, and each stops servers that it does not
	// know.
	remote := slices.ContainsFunc(c.ProviderNames,
		func(name string) bool { return name != providerProcess && name != providerManual })
	agonesAPI := []string{c.Agones.URL, c.Agones.Cert, c.Agones.Key, c.Agones.CA}
	kube := []string{c.Agones.Kube.URL, c.Agones.Kube.Token, c.Agones.Kube.CA}
	return unmetNeeds(
		need{remote && c.ProvisionOwner == "", "DIRECTOR_PROVIDERS: its providers need DIRECTOR_PROVISION_OWNER, a name " +
			"of this installation that no other one has"},
		need{c.needsPublicURL() && c.PublicURL == "", "DIRECTOR_PROVIDERS: its providers need DIRECTOR_PUBLIC_URL, where " +
			"game servers reach the replicas"},
		need{c.usesProvider(providerAgones) && slices.Contains(agonesAPI, ""),
			"DIRECTOR_PROVIDERS: agones needs DIRECTOR_AGONES_URL, _CERT, _KEY and _CA"},
		// Without Kubernetes the director allocates all the same; half of its settings are a mistake.
		need{c.usesProvider(providerAgones) && c.Agones.Kube != (agones.Kube{}) && slices.Contains(kube, ""),
			"DIRECTOR_PROVIDERS: agones needs all of DIRECTOR_AGONES_KUBE_URL, _KUBE_TOKEN and _KUBE_CA, or none"},
		need{c.usesProvider(providerDocker) && len(c.Docker.Images) == 0,
			"DIRECTOR_PROVIDERS: docker needs DIRECTOR_DOCKER_IMAGES"},
		need{c.usesProvider(providerEdgegap) && c.Edgegap.Token == "",
			"DIRECTOR_PROVIDERS: edgegap needs DIRECTOR_EDGEGAP_TOKEN"},
		need{c.usesProvider(providerProcess) && c.Processes.Commands == nil,
			"DIRECTOR_PROVIDERS: process needs DIRECTOR_PROCESS_COMMANDS"},
	)
}

// listenAddrs are the addresses at which this process really listens, such as the port that it got for :0. nil: it does
// not listen, or not yet.
type listenAddrs struct{ api, nats net.Addr }
