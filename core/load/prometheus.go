package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

const (
	scrapeLimit  = 5 * time.Second
	maxScrape    = 64 << 20
	maxSeries    = 200_000
	maxScrapeRow = 1 << 20
)

// Scrape reads a server's Prometheus metrics and gives the value of each name,
// summed over its labels (engines, ranks, models), under the name alone. Gauges
// that are a share, for which a sum is no figure, are also given under the name
// and ":max", as the highest of the series. Series that are not finite are passed
// over. Where there is no such page the error wraps core.ErrUnimplemented.
func Scrape(ctx context.Context, baseURL string) (map[string]float64, error) {
	var first error
	for _, path := range []endpoint{"/metrics", "/prometheus/metrics"} {
		found, err := scrape(ctx, address(baseURL, path))
		if err == nil && len(found) > 0 {
			return found, nil
		}
		if err == nil {
			err = fmt.Errorf("read %s: %w: it holds no Prometheus metrics", path, core.ErrUnimplemented)
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, core.ErrUnimplemented) {
			break
		}
	}
	return nil, first
}

func scrape(ctx context.Context, url string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	Authorize(req)
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read metrics: %w: the server answers %d", core.ErrUnimplemented, resp.StatusCode)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		// TensorRT-LLM's /metrics are iteration statistics, not Prometheus metrics.
		return nil, nil
	}
	return ParseMetrics(resp.Body)
}

// ParseMetrics reads the Prometheus text format as Scrape gives it. Lines that it
// cannot read are an error that names them. Of histograms the buckets are left
// out; …_sum and …_count stay. A counter that ServerFigures knows is also given for
// each of its series, under the name with the labels as they stand, since one series
// that begins anew hides in the sum.
func ParseMetrics(r io.Reader) (map[string]float64, error) {
	in := bufio.NewScanner(io.LimitReader(r, maxScrape))
	in.Buffer(make([]byte, 0, 64<<10), maxScrapeRow)
	found := map[string]float64{}
	known := serverCounters()
	number, series := 0, 0
	for in.Scan() {
		number++
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, labels, value, err := metricLine(line)
		if err != nil {
			return nil, fmt.Errorf("read metrics: line %d: %w: %w", number, core.ErrInvalid, err)
		}
		if series++; series > maxSeries {
			return nil, fmt.Errorf("read metrics: %w: more than %d series", core.ErrInvalid, maxSeries)
		}
		if math.IsNaN(value) || math.IsInf(value, 0) || strings.HasSuffix(name, "_bucket") {
			continue
		}
		if labels != "" && known[name] {
			found[name+labels] = value
		}
		_, again := found[name]
		found[name] += value
		if again {
			value = max(value, found[name+":max"])
		}
		found[name+":max"] = value
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: line %d: %w", number+1, err)
	}
	return found, nil
}

// metricLine reads name{labels} value [timestamp]; the labels are with their braces.
func metricLine(line string) (name, labels string, value float64, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", "", 0, fmt.Errorf("%.80q is not a metric", line)
	}
	name = line[:end]
	rest := line[end:]
	if rest[0] == '{' {
		closing := labelsEnd(rest)
		if closing < 0 {
			return "", "", 0, fmt.Errorf("%.80q: the labels do not end", line)
		}
		labels, rest = rest[:closing+1], rest[closing+1:]
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return "", "", 0, fmt.Errorf("%.80q: want one value", line)
	}
	value, err = strconv.ParseFloat(fields[0], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return "", "", 0, fmt.Errorf("%.80q: the value is not a number", line)
	}
	return name, labels, value, nil
}

// labelsEnd finds the brace that ends the labels, passing over quoted values.
func labelsEnd(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == '}':
			return i
		}
	}
	return -1
}
