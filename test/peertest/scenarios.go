package peertest

// Players are the scenarios of clients of players.
var Players = map[string]Scenario{
	"a player and a party are seated":          seatsPlayers,
	"seat waits for the first server":          waitsForServers,
	"calls wait out an outage":                 waitsOutAnOutage,
	"a watch survives its replica":             survivesReplica,
	"a party waits with one ticket":            queuesParty,
	"an expired access token is replaced":      replacesToken,
	"an aborted call and an aborted watch end": aborts,
	"hostile answers are bounded":              boundsAnswers,
	"a newer director is understood":           understandsNewer,
	"redirects and strangers get no token":     keepsToken,
	"a cell is followed and remembered":        followsCell,
}

// Lobbies are the scenarios of clients of the realtime lobby.
var Lobbies = map[string]Scenario{
	"a party reaches its game server":          partyReachesItsServer,
	"a lobby starts":                           lobbyStarts,
	"a lobby client survives its replica":      lobbySurvivesReplica,
	"a refused token of the lobby is replaced": lobbyTokens,
}

// LobbyLists are the scenarios of clients of the realtime lobby that watch lists.
var LobbyLists = map[string]Scenario{
	"a lobby is found":             lobbyIsFound,
	"lobby friends see each other": lobbyFriends,
}

// GameServers are the scenarios of clients of the sidecar.
var GameServers = map[string]Scenario{
	"a game server plays over its sidecar":    playsOverSidecar,
	"a frozen game server is registered anew": thawsGameServer,
}
