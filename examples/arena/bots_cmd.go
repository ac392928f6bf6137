package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/examples/arena/bots"
)

func botsCommand(c *common) *cobra.Command {
	var cfg bots.Config
	var issuer issuerFlags
	var playFor time.Duration
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Let bots play",
		Long:  "Let bots play until Ctrl-C or the end of --for, then print their statistics as JSON.",
		Example: "  arena bots --issuer-key dev-issuer.json --region eu-west --modes duel,ffa --count 60 --max-party 4\n" +
			"  arena bots --issuer-key dev-issuer.json --modes ffa,teams --profiles teams=ranked\n" +
			"  arena bots --issuer-key dev-issuer.json --for 30s",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&issuer.keyFile, "issuer-key", "",
		"file with the Ed25519 private key (JWK) that signs access tokens; the director must trust it "+
			"(default $ARENA_ISSUER_KEY, file or JSON)")
	f.StringVar(&issuer.name, "issuer", "", "iss of the access tokens, if the director requires one")
	f.StringVar(&issuer.audience, "audience", "", "aud of the access tokens, if the director requires one")
	f.IntVar(&cfg.Count, "count", 8, "how many bots")
	f.StringVar(&cfg.Region, "region", "local", "region to play in")
	f.StringSliceVar(&cfg.Modes, "modes", []string{"ffa"}, "modes to play, taken in turn by parties")
	f.StringToStringVar(&cfg.Profiles, "profiles", nil,
		"profiles to queue for, by mode (teams=ranked); parties of other modes call matchmake")
	f.IntVar(&cfg.MaxParty, "max-party", 1, "size of the largest party")
	f.IntVar(&cfg.MaxPlayers, "max-players", 8, "requested size of sessions")
	f.DurationVar(&playFor, "for", 0, "how long the bots play; 0: until Ctrl-C")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runBots(cmd, c, cfg, issuer, playFor) }
	return cmd
}

// issuerFlags name the key that signs access tokens, and the claims that the director requires in them.
type issuerFlags struct{ keyFile, name, audience string }

func runBots(cmd *cobra.Command, c *common, cfg bots.Config, flags issuerFlags, playFor time.Duration) error {
	issuer, err := bots.LoadIssuer(cmp.Or(flags.keyFile, os.Getenv("ARENA_ISSUER_KEY")))
	if err != nil {
		return err
	}
	issuer.Name, issuer.Audience = flags.name, flags.audience
	cfg.AccessToken, cfg.Logger = issuer.AccessToken, c.newLogger()
	if cfg.Director, err = c.newClient(cfg.Logger); err != nil {
		return err
	}
	defer cfg.Director.Close()
	swarm, err := bots.New(cfg)
	if err != nil {
		return err
	}
	// The time of --for begins here, with the first call of a bot, and not while the flags are checked.
	ctx, stop := untilSignal(cmd.Context(), playFor)
	defer stop()
	swarm.Run(ctx)
	// A signal and the end of --for end only ctx: neither is an error. The command's context ends where a caller
	// cancels it.
	return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(swarm.Stats()), context.Cause(cmd.Context()))
}

// untilSignal returns a context that ends with SIGTERM or Ctrl-C, and after d unless d is 0.
func untilSignal(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGTERM, syscall.SIGINT)
	if d <= 0 {
		return ctx, stop
	}
	timed, cancel := context.WithTimeout(ctx, d)
	return timed, func() { cancel(); stop() }
}
