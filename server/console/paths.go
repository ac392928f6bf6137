package console

import "net/url"

// instancePath returns the page of a game server.
func instancePath(id string) string { return "/instances/" + url.PathEscape(id) }

// sessionPath returns the page of a session.
func sessionPath(id string) string { return "/sessions/" + url.PathEscape(id) }

// playerPath returns the page of a player. An id that a stranger chose is a parameter, because it may have any characters.
func playerPath(sub string) string { return "/players?q=" + url.QueryEscape(sub) }
