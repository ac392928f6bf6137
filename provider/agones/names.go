package agones

import (
	"net/netip"
	"strings"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// Names of what the director adds to game servers.
const (
	LabelOwner = "lattice-director.dev/owner"
	LabelTag   = "lattice-director.dev/tag"
	// AnnotationEnvironment holds the variables of a server, as a JSON object.
	AnnotationEnvironment = "lattice-director.dev/environment"
	// EnvironmentTag is the variable among them that holds the tag. NAME/TAG is the ref, which the server may send when
	// it registers.
	EnvironmentTag = "LATTICE_PROVIDER_TAG"
)

// labelFleet is the label that Agones gives the servers of a fleet.
const labelFleet = "agones.dev/fleet"

// refOf returns the ref of a game server that has a tag.
func refOf(name string, tag provider.Tag) provider.Ref { return provider.Ref(name + "/" + string(tag)) }

// parseRef returns the parts of a ref.
func parseRef(ref provider.Ref) (name string, tag provider.Tag, ok bool) {
	// A ref comes from a row, or from a game server that registers: it may be anything.
	name, text, _ := strings.Cut(string(ref), "/")
	tag = provider.Tag(text)
	return name, tag, validName(name) && tag.Valid()
}

// validName reports whether a name is one of Kubernetes', as far as it may be part of a path, and of a ref.
func validName(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

// dialledHost returns an address of a node as an IP or as a host name.
func dialledHost(address string) (netip.Addr, string) {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip, ""
	}
	return netip.Addr{}, httpcall.Scrub(address[:min(len(address), 255)], nil)
}
