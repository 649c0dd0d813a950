package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"

	"github.com/sweepbook/sweepbook/core"
)

// A packed blob is one byte that says how, then the data:
//
//	0  as it is
//	1  DEFLATE
//	2  DEFLATE with the words of packWords known beforehand, for short texts
const (
	packPlain = 0
	packFlate = 1
	packWith  = 2
)

// packWords are what benchmark output is full of. A record of one or two
// kilobytes is too short to compress well without. The text is part of the
// format and never changes; a better one is a new kind of blob.
const packWords = `", "model_id": "", "tokenizer_id": "", "num_prompts": , "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null, ` +
	`"duration": , "completed": , "failed": 0, "total_input_tokens": , "total_output_tokens": , "request_throughput": , ` +
	`"request_goodput": null, "output_throughput": , "total_token_throughput": , "max_output_tokens_per_s": , ` +
	`"max_concurrent_requests": , "mean_ttft_ms": , "median_ttft_ms": , "std_ttft_ms": , "p90_ttft_ms": , "p95_ttft_ms": , "p99_ttft_ms": , ` +
	`"mean_tpot_ms": , "median_tpot_ms": , "std_tpot_ms": , "p99_tpot_ms": , "mean_itl_ms": , "median_itl_ms": , "std_itl_ms": , "p99_itl_ms": , ` +
	`"mean_e2el_ms": , "median_e2el_ms": , "std_e2el_ms": , "p99_e2el_ms": 
============ Serving Benchmark Result ============
Successful requests:                     1000
Failed requests:                         0
Maximum request concurrency:             
Request rate configured (RPS):           
Benchmark duration (s):                  
Total input tokens:                      
Total generated tokens:                  
Request throughput (req/s):              
Output token throughput (tok/s):         
Peak output token throughput (tok/s):    
Peak concurrent requests:                
Total Token throughput (tok/s):          
---------------Time to First Token----------------
Mean TTFT (ms):                          
Median TTFT (ms):                        
P99 TTFT (ms):                           
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          
Median TPOT (ms):                        
P99 TPOT (ms):                           
---------------Inter-token Latency----------------
Mean ITL (ms):                           
Median ITL (ms):                         
P99 ITL (ms):                            
==================================================
`

// maxUnpacked bounds what a damaged blob can make us allocate.
const maxUnpacked = 1 << 30

// packer compresses; its writers are kept, since making one takes longer than
// using it. It is not for several goroutines. The zero packer is ready.
type packer struct {
	plain, words, coded *flate.Writer
	buf                 bytes.Buffer
}

// text packs a short text with the known words.
func (p *packer) text(s string) ([]byte, error) {
	if p.words == nil {
		w, err := flate.NewWriterDict(nil, flate.BestCompression, []byte(packWords))
		if err != nil {
			return nil, err
		}
		p.words = w
	}
	return p.run(p.words, packWith, []byte(s))
}

// data packs a blob of any kind.
func (p *packer) data(b []byte) ([]byte, error) {
	if p.plain == nil {
		w, err := flate.NewWriter(nil, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		p.plain = w
	}
	return p.run(p.plain, packFlate, b)
}

// moments packs what has hardly any repetition: only the frequency of its bytes
// can be used, and looking for more takes five times as long for nothing.
func (p *packer) moments(b []byte) ([]byte, error) {
	if p.coded == nil {
		w, err := flate.NewWriter(nil, flate.HuffmanOnly)
		if err != nil {
			return nil, err
		}
		p.coded = w
	}
	return p.run(p.coded, packFlate, b)
}

func (p *packer) run(w *flate.Writer, how byte, b []byte) ([]byte, error) {
	p.buf.Reset()
	p.buf.WriteByte(how)
	w.Reset(&p.buf)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if p.buf.Len() > len(b) {
		return append([]byte{packPlain}, b...), nil
	}
	return bytes.Clone(p.buf.Bytes()), nil
}

// unpack reads what a packer wrote.
func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: packed data: empty", core.ErrInvalid)
	}
	var r io.ReadCloser
	switch b[0] {
	case packPlain:
		return b[1:], nil
	case packFlate:
		r = flate.NewReader(bytes.NewReader(b[1:]))
	case packWith:
		r = flate.NewReaderDict(bytes.NewReader(b[1:]), []byte(packWords))
	default:
		return nil, fmt.Errorf("%w: packed data: unknown kind %d", core.ErrInvalid, b[0])
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("%w: packed data: %w", core.ErrInvalid, err)
	}
	if len(out) > maxUnpacked {
		return nil, fmt.Errorf("%w: packed data: more than %d bytes", core.ErrInvalid, maxUnpacked)
	}
	return out, nil
}
