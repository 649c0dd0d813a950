package serving

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadFirstAnswer reads an event stream to its end. A stream without a token,
// with an error in it, or without [DONE] is no answer.
func ReadFirstAnswer(body io.Reader) error {
	lines := bufio.NewScanner(io.LimitReader(body, 4<<20))
	lines.Buffer(nil, 1<<20)
	tokens := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue // comments, other fields and the lines between events
		}
		data = strings.TrimSpace(data)
		if data == "[DONE]" {
			if !tokens {
				return errors.New("the stream ended without a token")
			}
			return nil
		}
		var chunk struct {
			Error   json.RawMessage
			Choices []struct{ Text string }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return fmt.Errorf("chunk that is not JSON: %w", err)
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return fmt.Errorf("error inside HTTP 200: %s", chunk.Error)
		}
		for _, choice := range chunk.Choices {
			tokens = tokens || choice.Text != ""
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the stream ended without [DONE]")
}
