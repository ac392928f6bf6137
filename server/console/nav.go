package console

import "strings"

// navGroup is a group of links of the navigation.
type navGroup struct {
	Name  string
	Links []navLink
}

type navLink struct {
	Path, Label string
	Key         string // the shortcut after g, as in g f
	Here        bool   // whether the link is marked: the page that is shown belongs to it
	Capability  string // the link is shown to installations that use this capability; empty: to all
}

// nav is the navigation. On a page below a link (/fleet/x), or with a prefix of linkByPrefix, that link is marked.
var nav = []navGroup{
	{"Overview", []navLink{
		{Path: "/health", Label: "Health", Key: "h"},
		{Path: "/at", Label: "As of", Key: "t"},
	}},
	{"Game servers", []navLink{
		{Path: "/fleet", Label: "Fleet", Key: "f"},
		{Path: "/capacity", Label: "Capacity", Key: "c"},
	}},
	{"Players", []navLink{
		{Path: "/players", Label: "Players", Key: "p"},
		{Path: "/queue", Label: "Queue", Key: "q"},
		{Path: "/valves", Label: "Valves", Key: "v", Capability: usesValves},
		{Path: "/matches", Label: "Matches", Key: "m"},
	}},
	{"Rooms", []navLink{
		{Path: "/agents", Label: "Agents", Key: "a", Capability: usesAgents},
		{Path: "/rooms", Label: "Rooms", Key: "r", Capability: usesAgents},
		{Path: "/lobbies", Label: "Realtime lobby", Key: "l", Capability: usesLobby},
	}},
	{"System", []navLink{
		{Path: "/deployments", Label: "Deployments", Key: "d", Capability: usesPools},
		{Path: "/events", Label: "Events", Key: "e"},
		{Path: "/webhooks", Label: "Webhooks", Key: "w", Capability: usesWebhooks},
		{Path: "/keys", Label: "Keys", Key: "k"},
	}},
}

// linkByPrefix has the link that is marked on pages whose path does not begin with that of a link, by the beginning of
// their path. No prefix is the beginning of another, since they are tried in any order.
var linkByPrefix = map[string]string{"/instances/": "/fleet", "/sessions/": "/fleet", "/hosts/": "/fleet",
	"/labels/": "/fleet", "/regions/": "/fleet", "/evacuations": "/fleet", "/moves": "/fleet",
	"/tickets/": "/queue", "/lobby": "/lobbies", "/pools/": "/deployments", "/profiles/": "/queue"}

// linkOf returns the path of the link that a page belongs to, or the path of the page.
func linkOf(path string) string {
	for prefix, link := range linkByPrefix {
		if strings.HasPrefix(path, prefix) {
			return link
		}
	}
	return path
}

// navFor returns the navigation of what the installation uses, with the link of a path marked.
func navFor(path string, used map[string]bool) (groups []navGroup) {
	path = linkOf(path)
	for _, group := range nav {
		shown := navGroup{Name: group.Name}
		for _, l := range group.Links {
			l.Here = path == l.Path || strings.HasPrefix(path, l.Path+"/")
			// The link of the page that is open is shown even if the installation does not use the capability.
			if l.Here || l.Capability == "" || used[l.Capability] {
				shown.Links = append(shown.Links, l)
			}
		}
		if len(shown.Links) > 0 {
			groups = append(groups, shown)
		}
	}
	return groups
}
