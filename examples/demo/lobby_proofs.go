package main

import (
	"context"
	"fmt"
	"strings"
)

// friendsMet proves that a room is one room on all replicas.
func (j *judge) friendsMet() proof {
	f := j.friendsFacts
	return proof{
		claim: "Friends on two replicas share one room",
		// Two rounds of chat, in which each friend says a line.
		holds: f.replicaCount == 2 && f.lineCount == 2*len(friendNames) && f.sameOrder,
		evidenceText: fmt.Sprintf("%d friends on %d replicas heard %d lines of chat, %s", len(friendNames),
			f.replicaCount, f.lineCount, eitherText(f.sameOrder, "all in the same order", "not all in the same order")),
	}
}

// friendsPlayed proves that the match from the lobby was one session on a game server, with a seat for each friend.
func (j *judge) friendsPlayed(ctx context.Context) proof {
	// $3: whether the room of the match has said that the match is over.
	return j.askDatabase(ctx, "The lobby leads to a game server", `
		SELECT $3::bool AND count(*) = $2 AND count(*) = count(DISTINCT sub)
				AND coalesce(bool_and(connected_at IS NOT NULL), false),
			format('%s of %s friends were admitted on %s with tokens from the room of their match, within %s s; %s',
				count(*) FILTER (WHERE connected_at IS NOT NULL), $2::int, coalesce(min(instance_id), 'no server'), $4::text,
				CASE WHEN $3 THEN 'the room knows that the match is over'
					ELSE 'the room does not know whether the match is over' END)
		FROM seat WHERE region || '.' || session_id = $1`,
		j.friendsFacts.sessionID, len(friendNames), j.friendsFacts.matchOver,
		fmt.Sprintf("%.1f", j.friendsFacts.seatedAfter.Seconds()))
}

// friendsStayed proves that the clients of a killed replica lose neither their session nor a change of their rooms.
func (j *judge) friendsStayed() proof {
	f := j.friendsFacts
	return proof{
		claim: "The killed replica's clients kept their rooms",
		holds: len(f.movedPlayers) > 0 && f.allResumed && f.sameState,
		evidenceText: fmt.Sprintf("%s were connected to it: %.1f s later they %s, and %s",
			strings.Join(f.movedPlayers, " and "), f.backAfter.Seconds(),
			eitherText(f.allResumed, "had resumed their sessions at the other", "had no or other sessions"),
			eitherText(f.sameState,
				"all friends see the same state of both rooms, with what changed meanwhile",
				"not all friends see the same")),
	}
}

// eitherText returns one of two texts.
func eitherText(holds bool, yes, no string) string {
	if holds {
		return yes
	}
	return no
}
