package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/sdk"
)

const (
	botCount     = 60
	largestParty = 4
)

// players is the swarm of bots with its client and its log.
type players struct {
	botSwarm *bots.Swarm

	client  *sdk.Client
	answers *answers
	logFile *os.File
}

// newPlayers makes bots that know the addresses of both replicas.
func newPlayers(c *cluster) (p *players, err error) {
	p = &players{answers: newAnswers(c.playerLogin)}
	// The bots' log is a file: on the screen it would hide the play.
	if p.logFile, err = os.Create(filepath.Join(c.logsDir(), "bots.log")); err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(p.logFile, nil))
	// The client's transport records the answers, which the proofs compare with the database.
	p.client, err = sdk.New(sdk.Options{URLs: c.replicaURLs, HTTPClient: &http.Client{Transport: p.answers},
		Logger: log, UserAgent: "arena-bots"})
	if err != nil {
		return nil, err
	}
	p.botSwarm, err = bots.New(bots.Config{
		Director: p.client, AccessToken: p.answers.accessToken, Count: botCount, Region: region, Modes: modes,
		Profiles: map[string]string{rankedMode: profileName},
		MaxParty: largestParty, MaxPlayers: sessionSize, Logger: log,
		PlayFor: bots.Span{Min: 4 * time.Second, Max: 12 * time.Second},
		Rest:    bots.Span{Min: 200 * time.Millisecond, Max: 1500 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	p.answers.skillByPlayer = p.botSwarm.Skills() // before the first token is made
	return p, nil
}

// storeFacts stores with the director what the studio's ranking knows of each bot: its skill, which other members of a
// party cannot vouch for, and with whom it may party.
func (p *players) storeFacts(ctx context.Context, token string) error {
	facts := map[string]sdk.PlayerFacts{}
	for _, party := range p.botSwarm.Parties() {
		for _, name := range party {
			facts[name] = sdk.PlayerFacts{Attributes: map[string]any{"skill": p.answers.skillByPlayer[name]},
				MayPartyWith: party}
		}
	}
	_, err := sdk.NewBackend(p.client, token).PutPlayers(ctx, facts)
	return err
}

// countPlaying counts the bots that are connected now, and those that a game server has welcomed at least once.
func (p *players) countPlaying() (playing, welcomed int) {
	for _, b := range p.botSwarm.Stats().Bots {
		if b.Playing {
			playing++
		}
		if len(b.Visits) > 0 {
			welcomed++
		}
	}
	return playing, welcomed
}

// close closes the client and the log. It must be called after the swarm's Run has returned.
func (p *players) close() {
	p.client.Close()
	_ = p.logFile.Close()
}
