/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the vendor's tools: tables, dtypes and why, messages of logs, and
 * what the filter takes out. Every reader is given every prefix of its file.
 *
 * links: host-tools/triage/ host-tools/vendor/ host-tools/model/file.c
 * links: host-tools/model/model_info.c
 * links: host-tools/model/npz.c host-tools/model/npy.c lib/core/
 * libs: -ljansson -lyaml -lzip -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/triage/cells.h"
#include "host-tools/triage/evidence.h"
#include "host-tools/triage/log.h"
#include "host-tools/triage/redact.h"

static const char layers[] =
    "Index,mod_name,base_op_type,analy_op_type,shape,quant_dtype,qscale,Cosine,"
    "L1,Atol,max_qscale_diff,base_model_min,analy_model_min,base_model_max,"
    "analy_model_max\n"
    "0,conv,nn.Conv2d,nn.qat.Conv2d,\"torch.Size([1, 8])\",qint8,0.5,0.9,"
    "0.1,1,2,-10,-5,10,6\n"
    "1,relu,nn.ReLU,nn.qat.ReLU,\"torch.Size([1, 8])\",qint8,0.5,0.999,"
    "0.1,0.25,0.5,0,0,10,10\n";
static const char badcase[] =
    "The bad case input index of each output:\n"
    "Name/Index    Cosine    L1\n------------  --------  ----\n"
    "a             7         2\n\n\n"
    "The metric results of each badcase:\n"
    "Name/Index    Cosine    L1\n------------  --------  ----\n"
    "a             0.5       1.25\n\n\n"
    "The bad case input index of the worst output:\n"
    "metric    dataloader index\n--------  ------------------\n"
    "Cosine    7\n";
static const char sensitive[] =
    "op_name    sensitive_type    op_type               L1  quant_dtype\n"
    "---------  ----------------  ----------------  -----  -------------\n"
    "m.conv     activation        <class 'n.Conv'>    0.5  qint8\n";
static const char check[] =
    "+-----+-----+\n"
    "| Module Name | Module Type | Input dtype | out dtype |\n"
    "|-----+-----|\n"
    "| a | <class 'X'> | [torch.float32] | ['qint8'] |\n"
    "| b | <class 'X'> | ['qint8'] | [torch.float16] |\n";
static const char config[] = "# from\n{'a': {'input': qint8, 'weight': qint8,"
                             " 'output': [qint16]},\n"
                             "\"b\": torch.float16, 'c.d': 'qint16',\n}\n";
static const char changes[] = "ModuleNameTemplate\n"
                              "  a: qint8 -> qint16\n"
                              "ConvDtypeTemplate\n"
                              "  a: qint16 -> qint8\n";

static struct assay_triage_evidence *fresh(void)
{
    struct assay_triage_evidence *e;

    assert_int_equal(assay_evidence_new(&e, NULL), 0);
    return e;
}

static void test_probe(void **state)
{
    (void)state;
#define PROBE(text) assay_evidence_probe(text, sizeof(text) - 1)
    assert_int_equal(PROBE(layers), ASSAY_EVIDENCE_LAYERS);
    assert_int_equal(PROBE(badcase), ASSAY_EVIDENCE_BADCASE);
    assert_int_equal(PROBE(sensitive), ASSAY_EVIDENCE_SENSITIVE);
    assert_int_equal(PROBE(check), ASSAY_EVIDENCE_CHECK);
    assert_int_equal(PROBE(config), ASSAY_EVIDENCE_DTYPES);
    assert_int_equal(PROBE(changes), ASSAY_EVIDENCE_CHANGES);
    assert_int_equal(PROBE("{\"a\": 1}"), ASSAY_EVIDENCE_UNKNOWN);
    assert_int_equal(PROBE("nothing of the kind\n"), ASSAY_EVIDENCE_UNKNOWN);
#undef PROBE
}

static void test_layers(void **state)
{
    struct assay_triage_evidence *e = fresh();
    uint32_t worst[4];

    (void)state;
    assert_int_equal(
        assay_evidence_layers(e, layers, sizeof(layers) - 1, "f", NULL), 0);
    assert_int_equal(e->n_layers, 2);
    assert_string_equal(e->layers[0].shape, "torch.Size([1, 8])");
    assert_true(e->layers[0].qscale == 0.5 && e->layers[0].base_max == 10);
    assert_int_equal(assay_evidence_worst(e, worst, 4), 2);
    assert_int_equal(worst[0], 0);
    assert_string_equal(assay_layer_row_error(&e->layers[0]), "clipped");
    assert_string_equal(assay_layer_row_error(&e->layers[1]), "");
    assay_evidence_free(e);
}

static void test_badcases(void **state)
{
    struct assay_triage_evidence *e = fresh();

    (void)state;
    assert_int_equal(
        assay_evidence_badcases(e, badcase, sizeof(badcase) - 1, "f", NULL), 0);
    assert_int_equal(e->n_badcases, 3);
    assert_string_equal(e->badcases[1].metric, "L1");
    assert_int_equal(e->badcases[1].sample, 2);
    assert_true(e->badcases[1].value == 1.25);
    assert_string_equal(e->badcases[2].output, "");
    assert_true(isnan(e->badcases[2].value));
    assay_evidence_free(e);
}

static void test_dtypes(void **state)
{
    struct assay_triage_evidence *e = fresh();

    (void)state;
    assert_int_equal(
        assay_evidence_check(e, check, sizeof(check) - 1, "f", NULL), 0);
    assert_int_equal(
        assay_evidence_config(e, config, sizeof(config) - 1, "f", NULL), 0);
    assert_int_equal(
        assay_evidence_changes(e, changes, sizeof(changes) - 1, "f", NULL), 0);
    assert_int_equal(e->n_got, 2);
    assert_int_equal(e->n_config, 3);
    assert_string_equal(e->config[0].module, "a");
    assert_string_equal(e->config[0].dtype, "qint16");
    assert_string_equal(e->config[2].module, "c.d");
    assert_int_equal(e->n_changes, 2);
    assert_int_equal(assay_evidence_finish(e, NULL), 0);
    assert_int_equal(e->n_as_asked, 1); /* b */
    assert_int_equal(e->n_verdicts, 2);
    assert_string_equal(e->verdicts[0].module, "a");
    assert_int_equal(e->verdicts[0].why, ASSAY_DTYPE_OVERRIDDEN);
    assert_string_equal(e->verdicts[0].by, "ConvDtypeTemplate");
    assert_string_equal(e->verdicts[1].module, "c.d");
    assert_int_equal(e->verdicts[1].why, ASSAY_DTYPE_NOT_HIT);
    assay_evidence_free(e);
}

/* Cut anywhere, and with any byte made another: read or refused, no crash. */
static void test_hostile(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        assay_evidence_reader_fn read;
    } files[] = {
        {layers, sizeof(layers) - 1, assay_evidence_layers},
        {badcase, sizeof(badcase) - 1, assay_evidence_badcases},
        {sensitive, sizeof(sensitive) - 1, assay_evidence_sensitive},
        {check, sizeof(check) - 1, assay_evidence_check},
        {config, sizeof(config) - 1, assay_evidence_config},
        {changes, sizeof(changes) - 1, assay_evidence_changes},
    };
    static const char odd[] = {'\0', '|', ',', '"', '\'', '{', '\n', '\x80'};
    struct assay_err err;

    (void)state;
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++)
        for (size_t k = 0; k < files[f].n; k++) {
            size_t n = k % 2 == 0 ? k : files[f].n;
            char *copy = malloc(n + 1); /* its end is its end */
            struct assay_triage_evidence *e = fresh();
            int rc;

            memcpy(copy, files[f].text, n);
            copy[n] = '\0';
            if (n > k)
                copy[k] = odd[(k / 2) % sizeof(odd)];
            err.text[0] = '\0';
            rc = files[f].read(e, copy, n, "f", &err);
            assert_true(rc == 0 || err.text[0] != '\0');
            if (rc == 0)
                assert_int_equal(assay_evidence_finish(e, &err), 0);
            assay_evidence_free(e);
            free(copy);
        }
}

static const char *id_of(const char *line)
{
    const struct assay_log_message *m = assay_log_find(line, strlen(line));

    return m != NULL ? m->id : "";
}

static void test_log(void **state)
{
    static const struct {
        const char *line, *id;
    } lines[] = {
        {"load failed, HB_DNN_INCOMPATIBLE_MODEL", "model-incompatible"},
        {"ret=-600004", "model-incompatible"},
        {"code -6000014!", "model-incompatible"},
        {"March mismatch: bayes-e, nash-e", "march"},
        {"march x is not supported", "march"},
        {"runtime version 1 does not match 2", "version"},
        {"HB_UCP_MEM_ALLOC_FAIL", "memory"},
        {"-6000007", "memory"},
        {"Check failed: x->hbm_exec_output_region_for != 0", "segments"},
        {"HB_UCP_TASK_TIMEOUT", "timeout"},
        {"op 3 of task has no proper backend, user expect 1", "backend"},
        {"HB_UCP_TASK_RUN_FAILED", "run"},
        {"HB_DNN_TASK_NUM_EXCEED_LIMIT", "limit"},
        {"HB_DNN_CAN_NOT_OPEN_FILE", "cannot-open"},
        {"HB_DNN_INVALID_MODEL", "invalid-model"},
        {"hb_dnn_invalid_argument", "argument"},
        {"HB_DNN_INVALID_TASK_HANDLE", "handle"},
        {"input shape does not match", "input-shape"},
        {"ValueError: Not support layer name=a type=b", "operator"},
        {"opset 17 is not supported", "opset"},
        {"undefined symbol: hbDNNInferV2", "library"},
        {"all is well", ""},
        {"-60000077", ""},
        {"-40000123", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_string_equal(id_of(lines[i].line), lines[i].id);
    assert_true(assay_log_is_error("x ERROR y", 9));
    assert_true(assay_log_is_error("ValueError: z", 13));
    assert_false(assay_log_is_error("0 errors, no_error_here", 23));
}

static void redacts(const char *from, const char *to)
{
    struct assay_redaction r = {.own = {"/plant/line7"}, .n_own = 1};
    struct assay_buf out;

    assay_buf_init(&out);
    assert_int_equal(assay_redact(&out, from, strlen(from), &r, NULL), 0);
    assert_int_equal(assay_buf_append(&out, "", 1), 0);
    assert_string_equal((char *)out.data, to);
    assay_buf_close(&out);
}

static void test_redact(void **state)
{
    (void)state;
    redacts("password: x1", "password: <secret>");
    redacts("PASSWORD=\"a b\" c", "PASSWORD=<secret> c");
    redacts("{\"token\": \"abc\", \"n\": 1}",
            "{\"token\": <secret>, \"n\": 1}");
    redacts("run --token abc --x", "run --token <secret> --x");
    redacts("tokens per second 5", "tokens per second 5");
    redacts("tokenizer = bert", "tokenizer = bert");
    redacts("sshpass -p abc ssh", "sshpass -p <secret> ssh");
    redacts("a@b.c: x", "<user>@<host>: x");
    redacts("scp u@10.0.0.1:/home/u/x.hbm .",
            "scp <user>@<host>:<path>/x.hbm .");
    redacts("https://u:p@h.example/x", "https://<user>:<secret>@<host>/x");
    redacts("ping 192.168.1.10", "ping <host>");
    redacts("version 3.49.15.0", "version 3.49.15.0");
    redacts("hbdk-3.49.15.0 1.2.3", "hbdk-3.49.15.0 1.2.3");
    redacts("HBDK 3.49.15.0", "HBDK 3.49.15.0");
    redacts("300.1.1.1", "300.1.1.1");
    redacts("fe80::1:2:3 12:34:56", "<host> 12:34:56");
    redacts("00:1b:44:11:3a:b7", "<host>");
    redacts("in /home/u/a/b.c, ok", "in <path>/b.c, ok");
    redacts("\"/home/alice\"", "\"<path>\"");
    redacts("~/models/x.onnx", "<path>/x.onnx");
    redacts("C:\\Users\\u\\x.onnx", "<path>\\x.onnx");
    redacts("/plant/line7/out/f.npz", "<path>/f.npz");
    redacts("/backbone/conv.1/Conv", "/backbone/conv.1/Conv");
    redacts("-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\nz",
            "<secret>\nz");
    redacts("-----BEGIN PRIVATE KEY-----\nQUJD", "<secret>");
    redacts("", "");
}

/* Where secrets stand that no plain "key = value" is. */
static void test_redact_odd_places(void **state)
{
    (void)state;
    redacts("Authorization: Basic dTpw\nx", "Authorization: <secret>\nx");
    redacts("-H 'Cookie: a=1; b=2' x", "-H 'Cookie: <secret>' x");
    redacts("{\"password\": \"a\\\"b c\", \"n\": 1}",
            "{\"password\": <secret>, \"n\": 1}");
    redacts("\"{\\\"token\\\": \\\"a b\\\", \\\"n\\\": 1}\"",
            "\"{\\\"token\\\": <secret>, \\\"n\\\": 1}\"");
    redacts("{\"AccessKeyId\": \"x\"}", "{\"AccessKeyId\": <secret>}");
    redacts("curl -u u:p h", "curl -u <user>:<secret> h");
    redacts("id -u x", "id -u x");
    redacts("https://u:p@q@h.example/x", "https://<user>:<secret>@<host>/x");
    redacts("u@[2001:db8::7]:/tmp/x", "<user>@<host>:<path>");
    redacts("fe80::1%eth0", "<host>%eth0");
    redacts("c10::add ::1", "c10::add ::1");
    redacts("00-1B-44-11-3A-B7", "<host>");
    redacts("2026-12-03 00-11-22", "2026-12-03 00-11-22");
    redacts("file:///home/u/x.bin", "file://<path>/x.bin");
    redacts("D:/models/x.onnx", "<path>/x.onnx");
    redacts("\\\\nas\\u\\x.onnx a\\\\nb", "<path>\\x.onnx a\\\\nb");
    redacts("C:\\Users\\A B\\x.onnx is", "<path>\\x.onnx is");
    redacts("'/home/A B/x.bin' is", "'<path>/x.bin' is");
    redacts("'/home/a/x.py -k /b' c", "'<path>/x.py -k /b' c");
    redacts("github_pat_0123456789012345678901", "<secret>");
}

static void test_cells(void **state)
{
    struct assay_cells c;
    char wide[3 * ASSAY_MAX_CELLS];

    (void)state;
    assert_true(assay_cells_split(&c, "| a |  | b |", 12, ASSAY_CELLS_PIPE));
    assert_int_equal(c.n, 3);
    assert_string_equal(c.v[1], "");
    assert_true(assay_cells_split(&c, "a,\"b,\"\"c\",d", 11, ASSAY_CELLS_CSV));
    assert_int_equal(c.n, 3);
    assert_string_equal(c.v[1], "b,\"c");
    assert_false(assay_cells_split(&c, "a,\"b", 4, ASSAY_CELLS_CSV));
    assert_true(assay_cells_split(&c, "  a b  c ", 9, ASSAY_CELLS_BLANKS));
    assert_int_equal(c.n, 2);
    assert_string_equal(c.v[0], "a b");
    memset(wide, ',', sizeof(wide));
    assert_false(assay_cells_split(&c, wide, sizeof(wide), ASSAY_CELLS_CSV));
    assert_string_equal(assay_dtype_word("['qint16']", 10), "qint16");
    assert_null(assay_dtype_word("quintessence", 12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_badcases),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_redact),
        cmocka_unit_test(test_redact_odd_places),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
