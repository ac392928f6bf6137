package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/token"
)

// inspectedToken is the output of `token inspect`. The session handle is truncated, because people paste the output
// into tickets.
type inspectedToken struct {
	Valid   bool           `json:"valid"`
	Reason  string         `json:"reason,omitempty"` // a word of package token: expired, unknown_key, …
	Says    string         `json:"says"`
	Against string         `json:"against"` // where the keys came from
	Key     string         `json:"key,omitempty"`
	Header  map[string]any `json:"header"`
	Claims  map[string]any `json:"claims"`
}

// errTokenRefused gives exit code 1, so that a script can ask whether a token is good.
var errTokenRefused = errors.New("a game server refuses this token")

// tokenInspect adds its flags by itself, and not by onDatabase: with --jwks, and for a netcode token, it needs no
// database.
func (p *program) tokenInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect TOKEN|-",
		Short: "Decode a session token, and explain whether a game server accepts it",
		Long: "Decodes a session token and verifies it as a game server does: signature, issuer, audience and times. The keys are those\n" +
			"of the database, or with --jwks a published key set. With - the token is read from standard input, where other users of\n" +
			"the machine cannot see it. It is never logged.\n\n" +
			"Exit code 1 when it is not valid. A game server also compares the claims ep and sid with its own.\n\n" +
			"Of a netcode connect token it prints what a client reads: only its game server has the key to verify it.",
		Example: "  director token inspect - < token.txt\n" +
			"  director token inspect --jwks https://director.example.com/.well-known/jwks.json eyJhbGciOi…",
		Args: cli.Exactly(1),
	}
	jwks := cmd.Flags().String("jwks", "",
		"Verify against this key set, an https URL, a file or JSON, instead of the database's keys")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		raw, err := p.readToken(args[0])
		if err != nil {
			return err
		}
		// Tried first: a netcode token is plain base64, which has no dots, so that no session token is taken for one.
		if i, ok := decodeNetcode(raw, time.Now()); ok {
			out, err := cli.OutputOf(cmd)
			if err != nil {
				return err
			}
			return i.writeVerdict(out, time.Now())
		}
		if *jwks != "" {
			return p.inspectBySet(cmd, raw, *jwks)
		}
		return p.withDatabase(cmd, byOperator,
			func(ctx context.Context, op operator) error { return op.inspectToken(ctx, raw) })
	}
	return cmd
}

// readToken returns the argument, or the first line of standard input for -.
func (p *program) readToken(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	// One byte more than a token may have, and a line break: a longer text is refused as too large, not cut to a valid
	// size.
	text, err := bufio.NewReader(io.LimitReader(p.stdin, token.MaxTokenBytes+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(text), nil
}

// inspectBySet verifies with a key set and needs no database, so that somebody who runs only a game server can ask.
func (p *program) inspectBySet(cmd *cobra.Command, raw, jwks string) error {
	out, err := cli.OutputOf(cmd)
	if err != nil {
		return err
	}
	keys, err := token.NewKeySource(jwks, token.SourceOptions{})
	if err != nil {
		return cli.Usage(fmt.Errorf("--jwks: %w", err))
	}
	if _, err := keys.Keys(cmd.Context()); err != nil {
		return fmt.Errorf("--jwks: the key set cannot be read: %w", err)
	}
	i := decodeToken(raw)
	i.Against = "the key set of --jwks"
	return i.judgeToken(cmd.Context(), raw, keys, time.Now()).writeVerdict(out)
}

// inspectToken verifies with the keys and the clock of the database.
func (op operator) inspectToken(ctx context.Context, raw string) error {
	published, now, err := op.store.Keys(ctx)
	if err != nil {
		return err
	}
	// All keys: one that is not published any more still says why it is refused.
	states, err := opsview.Keys.Read(ctx, op.store.Pool(), opsview.KeyFilter{}, opsview.Page{})
	if err != nil {
		return err
	}
	i := decodeToken(raw)
	i.Against = "the keys of the database"
	// Replaced by the state of the key, if the database has one with this kid. The state of a tainted or expired key is
	// the reason of the refusal.
	i.Key = "no key of this database"
	if k := slices.IndexFunc(states, func(k opsview.Key) bool { return k.KID == i.Header["kid"] }); k >= 0 {
		i.Key = states[k].State
	}
	// The same verifier as that of game servers, with the keys that replicas publish now. The set is read once:
	// MaxAge is longer than the command runs.
	set := token.NewKeySourceFunc(func(context.Context, string) (token.Document, error) {
		return token.Document{JSON: publicSet(published, now), MaxAge: time.Hour}, nil
	}, token.SourceOptions{})
	return i.judgeToken(ctx, raw, set, now).writeVerdict(op.out)
}

// publicSet is the key set that replicas publish at a moment.
func publicSet(keys []db.SigningKey, now time.Time) []byte {
	set := map[string][]json.RawMessage{"keys": {}}
	for _, k := range keys {
		if !now.Before(k.PublishAt) && now.Before(k.VerifyUntil) {
			set["keys"] = append(set["keys"], k.Material.PublicJWK)
		}
	}
	document, _ := json.Marshal(set) // cannot fail: the parts were stored as JSON
	return document
}

// decodeToken decodes header and claims as far as possible, without verification.
func decodeToken(raw string) (i inspectedToken) {
	parts := strings.Split(raw, ".")
	// Without header and claims: the verdict is then that it is malformed.
	if len(parts) != 3 {
		return i
	}
	// The third part is the signature.
	for n, to := range []*map[string]any{&i.Header, &i.Claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[n])
		if err == nil {
			_ = json.Unmarshal(text, to) // anything but a JSON object is not shown
		}
	}
	// Whoever has the handle exchanges it for a seat: twelve characters still tell two sessions apart.
	if handle, ok := i.Claims["hdl"].(string); ok && len(handle) > 12 {
		i.Claims["hdl"] = handle[:12] + "…"
	}
	return i
}

// judgeToken adds the verdict of a game server at a moment, and its reason in words.
func (i inspectedToken) judgeToken(ctx context.Context, raw string, keys *token.KeySource, now time.Time) inspectedToken {
	// 0 is the default tolerance for clocks, as in game servers.
	claims, err := token.NewSessionVerifier(keys, 0).Verify(ctx, raw, now)
	if err == nil {
		i.Valid, i.Says = true, fmt.Sprintf("valid for %s more",
			briefDuration(claims.Expires.Sub(now).Round(time.Second)))
		return i
	}
	var invalid token.Invalid
	if errors.As(err, &invalid) {
		i.Reason = string(invalid)
	}
	i.Says = i.explainReason(invalid, now)
	return i
}

// explainReason returns the reason in words.
func (i inspectedToken) explainReason(reason token.Invalid, now time.Time) string {
	switch reason {
	case token.Malformed, token.TooLarge:
		return "this is no token: a token has three parts separated by dots, and begins with eyJ"
	case token.Expired:
		return fmt.Sprintf("it expired %s ago: the player resolves again",
			briefDuration(now.Sub(i.claimTime("exp")).Round(time.Second)))
	case token.NotYetValid:
		return fmt.Sprintf("it becomes valid in %s: compare this machine's clock with the database's",
			briefDuration(i.claimTime("iat").Sub(now).Round(time.Second)))
	case token.UnknownKey, token.AlgNotAllowed, token.WrongIssuer, token.WrongAudience:
		return i.explainOtherToken(reason)
	case token.BadSignature:
		return "the signature is wrong: the token was changed or truncated"
	default:
		return "it is no session token of a director (" + string(reason) + ")"
	}
}

// explainOtherToken distinguishes a token of another kind from one whose key is not in the key set.
func (i inspectedToken) explainOtherToken(reason token.Invalid) string {
	switch {
	case i.Claims["iss"] != token.Issuer:
		return "it is no session token: a session token has iss " + token.Issuer + ". Is it a player's access token?"
	case reason == token.WrongAudience:
		return "its aud is not " + token.Audience
	case i.Key == "tainted":
		return "its key was tainted: the player resolves again"
	case i.Key == "expired":
		return "its key expired, and the token before it: the player resolves again"
	default:
		return "its key is not in this key set: another director signed it, or the key set is old"
	}
}

func (i inspectedToken) claimTime(claim string) time.Time {
	// A claim that is missing or no number is 1970: the text says so, and the verdict does not depend on it.
	seconds, _ := i.Claims[claim].(float64)
	return time.Unix(int64(seconds), 0)
}

// writeVerdict prints the token and the verdict. It returns an error for an invalid token.
func (i inspectedToken) writeVerdict(out cli.Output) error {
	if out.JSON {
		if err := cli.WriteJSON(out.Writer, i); err != nil {
			return err
		}
	} else {
		i.writeText(out.Writer)
	}
	// After the output, which says more than this error.
	if !i.Valid {
		return fmt.Errorf("%w: %s", errTokenRefused, i.Says)
	}
	return nil
}

func (i inspectedToken) writeText(to io.Writer) {
	verdict := "valid"
	if !i.Valid {
		verdict = "NOT VALID"
	}
	fmt.Fprintf(to, "%s: %s\nverified with %s\n", verdict, i.Says, i.Against)
	if i.Key != "" {
		fmt.Fprintf(to, "its key: %s\n", i.Key)
	}
	for _, part := range []struct {
		name string
		from map[string]any
	}{{"header", i.Header}, {"claims", i.Claims}} {
		fmt.Fprintf(to, "\n%s\n", part.name)
		for _, word := range slices.Sorted(maps.Keys(part.from)) {
			fmt.Fprintf(to, "  %-12s %s\n", word, readableClaim(word, part.from[word]))
		}
	}
}

// readableClaim shows the times of a token as times; JSON has them as numbers of seconds.
func readableClaim(name string, v any) string {
	if seconds, ok := v.(float64); ok && (name == "iat" || name == "exp" || name == "nbf") {
		return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(v)
}
