package console

import (
	"bytes"
	"net/http"

	"github.com/lattice-director/director/server/rest"
)

// errorView is what templates/error.html reads.
type errorView struct {
	Status        int
	Title, Detail string
	Fields        []rest.FieldError
	Advice        string
	LogIn         bool
}

// advice says what to do about an error, by its status.
var advice = map[int]string{
	http.StatusNotFound: "It may have ended a while ago: look for it in the events.",
	http.StatusServiceUnavailable: "The database did not answer in time. Reload in a moment; if it stays so, run " +
		"director doctor where it can reach the database.",
	http.StatusInternalServerError: "The log of the replica has the cause, under the request id in the header X-Request-Id.",
	http.StatusForbidden:           "A viewer may read everything and change nothing: ask an operator.",
}

// writeError answers with the page of an error, and returns its code for the log. It is the rest.ErrorWriter of the
// console.
func (c *Console) writeError(w http.ResponseWriter, err error) string {
	p := rest.ProblemOf(err)
	v := errorView{Status: p.Status, Title: p.Title, Detail: p.Detail, Fields: p.Errors, Advice: advice[p.Status],
		LogIn: p.Status == http.StatusUnauthorized}
	var out bytes.Buffer
	// The template of errors may be what fails: the status is enough then.
	if err := c.templates.errorPage.Execute(&out, v); err != nil {
		out.Reset()
		out.WriteString(http.StatusText(p.Status))
	}
	writeHTML(w, p.Status, out.Bytes())
	return p.Code
}
