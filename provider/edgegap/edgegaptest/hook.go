package edgegaptest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// hookTimeout is how long the API waits for the answer to a webhook.
const hookTimeout = 10 * time.Second

// announce sends the webhook of a new deployment once it is ready, or has failed.
func (f *Fake) announce(d *deployment) {
	url := d.hooks[0]
	if d.failed {
		url = d.hooks[1]
	}
	f.hookAt(d, url, d.ready)
}

// hookAt sends a webhook at a time, with what the status is then. It does not wait.
func (f *Fake) hookAt(d *deployment, url string, at time.Time) {
	if url == "" {
		return
	}
	f.background.Go(func() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-f.ctx.Done():
			return
		}
		f.mu.Lock()
		// As of the time when it was due, however late it is sent.
		body := d.body(at, f.opt.PortsList)
		f.mu.Unlock()
		f.send(url, body)
	})
}

func (f *Fake) send(url string, body object) {
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	client := http.Client{Timeout: hookTimeout}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return
	}
	// Sent once, whatever the answer is: the API repeats no webhook.
	if resp, err := client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}
