package console

import "net/url"

// instancePath returns the page of a game server.
func instancePath(id string) string { return "/instances/" + url.PathEscape(id) }

// sessionPath returns the page of a session.
func sessionPath(id string) string { return "/sessions/" + url.PathEscape(id) }
