package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// fleetClient calls the fleet API for all simulated servers.
var fleetClient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

const (
	registerAgain  = 200 * time.Millisecond
	heartbeatEvery = 5 * time.Second
)

// simulateServer is a game server that runs until ctx ends: it registers as its environment says, and sends heartbeats.
func simulateServer(ctx context.Context, env map[string]string) {
	s := simulated{ctx, env}
	incarnation := ""
	for incarnation == "" {
		var registered struct {
			Incarnation string `json:"incarnation"`
		}
		capacity, _ := strconv.Atoi(env["LATTICE_CAPACITY"])
		_ = s.post("register", map[string]any{
			"instance_id": env["LATTICE_DEPLOYMENT_ID"], "region": env["LATTICE_REGION"],
			"modes":    strings.Split(env["LATTICE_MODES"], ","),
			"capacity": capacity, "boot_id": env["LATTICE_DEPLOYMENT_ID"],
		}, &registered)
		if incarnation = registered.Incarnation; incarnation == "" && !s.wait(registerAgain) {
			return
		}
	}
	for s.wait(heartbeatEvery) {
		_ = s.post("heartbeat", map[string]any{"instance_id": env["LATTICE_DEPLOYMENT_ID"], "incarnation": incarnation},
			&struct{}{})
	}
}

type simulated struct {
	ctx context.Context //nolint:containedctx // a server's life
	env map[string]string
}

func (s simulated) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s simulated) post(call string, body, answer any) error {
	return postJSON(s.ctx, fleetClient, s.env["DIRECTOR_URL"]+"/fleet/"+call, "X-Fleet-Token", s.env["FLEET_TOKEN"],
		body, answer)
}

// statusError is an answer other than 200.
type statusError int

// Error implements error.
func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

func postJSON(ctx context.Context, client *http.Client, url, header, secret string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, secret)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return statusError(res.StatusCode)
	}
	return json.NewDecoder(res.Body).Decode(answer)
}
