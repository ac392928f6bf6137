// Package backend is the part of a game's own backend that the realtime lobby needs: it calls the lobby's control API.
package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Backend makes tokens for players who have logged in. Its internal token must not be known to players.
type Backend struct {
	URL           string // of the control API, such as http://127.0.0.1:3000
	InternalToken string
}

// maxAnswer bounds an answer of the control API, in bytes.
const maxAnswer = 1 << 20

// Project makes a project with a key. Errors: the control API refuses, or cannot be reached.
func (b Backend) Project(ctx context.Context, name string) (project, key string, err error) {
	var madeProject, madeKey struct{ ID string }
	if err := b.postJSON(ctx, "/projects", map[string]any{"name": name}, &madeProject); err != nil {
		return "", "", err
	}
	if err := b.postJSON(ctx, "/projects/"+madeProject.ID+"/keys", map[string]any{}, &madeKey); err != nil {
		return "", "", err
	}
	return madeProject.ID, madeKey.ID, nil
}

// Token makes a token of a player, which is valid for an hour. Errors: as Project.
func (b Backend) Token(ctx context.Context, project, key, player string) (token string, err error) {
	var minted struct{ Token string }
	err = b.postJSON(ctx, "/tokens", map[string]any{"project_id": project, "key_id": key, "sub": player}, &minted)
	return minted.Token, err
}

// postJSON calls the control API with its internal token and fills in the answer. Errors: those of the connection, one
// with the status and the body for each status from 300 on, and one for an answer that is not of the wanted form.
func (b Backend) postJSON(ctx context.Context, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Nexis-Internal-Token", b.InternalToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	// Read also after a refusal: its body says why.
	raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %s: %s", path, res.Status, raw)
	}
	return json.Unmarshal(raw, answer)
}
