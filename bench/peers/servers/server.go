// Go net/http: a ticker per stream, one Flush per event, and the request's context for a client that leaves.
package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

var words []string

type token struct {
	Token string `json:"token"`
}

func number(r *http.Request, name string, fallback int) int {
	value, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return fallback
	}
	return value
}

func writeToken(w http.ResponseWriter, index int) error {
	data, err := json.Marshal(token{words[index%len(words)]})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "data: %s\n\n", data)
	return err
}

func stream(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "streaming is not supported", http.StatusInternalServerError)
		return
	}
	tokens := number(r, "max_tokens", 128)
	ttft := time.Duration(number(r, "ttft_ms", 200)) * time.Millisecond
	itl := time.Duration(number(r, "itl_ms", 20)) * time.Millisecond
	var id [16]byte
	rand.Read(id[:])
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Request-Id", fmt.Sprintf("%x", id))
	flusher.Flush()

	done := r.Context().Done()
	select {
	case <-done:
		return
	case <-time.After(ttft):
	}
	var tick <-chan time.Time
	if itl > 0 {
		ticker := time.NewTicker(itl)
		defer ticker.Stop()
		tick = ticker.C
	}
	for index := 0; index < tokens; index++ {
		if index > 0 && tick != nil {
			select {
			case <-done:
				return
			case <-tick:
			}
		}
		if err := writeToken(w, index); err != nil {
			return
		}
		flusher.Flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"status":"ok"}`)
}

func main() {
	port := flag.Int("port", 8080, "port to listen on")
	table := flag.String("words", "words.json", "file with the token table")
	flag.Parse()
	text, err := os.ReadFile(*table)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.Unmarshal(text, &words); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/stream", stream)
	http.HandleFunc("/health", health)
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
