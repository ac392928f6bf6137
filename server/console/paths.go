package console

import "net/url"

// instancePath returns the page of a game server.
func instancePath(id string) string { return "/instances/" + url.PathEscape(id) }

// sessionPath returns the page of a session.
func sessionPath(id string) string { return "/sessions/" + url.PathEscape(id) }

// agentPath returns the page of an agent.
func agentPath(id string) string { return "/agents/" + url.PathEscape(id) }

// deploymentPath returns the page of a deployment.
func deploymentPath(id string) string { return "/deployments/" + url.PathEscape(id) }

// ticketPath returns the page of a ticket.
func ticketPath(id string) string { return "/tickets/" + url.PathEscape(id) }

// matchPath returns the page of a match.
func matchPath(id string) string { return "/matches/" + url.PathEscape(id) }

// playerPath returns the page of a player. An id that a stranger chose is a parameter, because it may have any
// characters.
func playerPath(sub string) string { return "/players?q=" + url.QueryEscape(sub) }
