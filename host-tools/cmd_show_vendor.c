/* SPDX-License-Identifier: Apache-2.0 */
/* show: what the vendor's tools say of the layers, and what does not fit. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/preflight.h"
#include "host-tools/prepare.h"

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static void texts_of(const struct assay_vendor_layer *k, char cosine[32],
                     char threshold[32])
{
    snprintf(cosine, 32, k->has_cosine ? "%.6f" : "-", k->cosine);
    snprintf(threshold, 32, k->has_threshold ? "%.6g" : "-", k->threshold);
}

void assay_show_vendor_layer(const struct assay_prepared *p, uint32_t layer)
{
    struct assay_vendor_layer k;
    char cosine[32], threshold[32];

    if (p->vendor == NULL ||
        !assay_vendor_layer(&k, p->vendor, p->slice->layers[layer].name))
        return;
    texts_of(&k, cosine, threshold);
    printf("  vendor   on %s  subgraph %s  type %s  cosine %s  threshold %s  "
           "dtype %s\n",
           assay_vendor_on_name(k.on), or_dash(k.subgraph), or_dash(k.type),
           cosine, threshold, or_dash(k.dtype));
}

static void print_build(const struct assay_vendor *v)
{
    const char *march = v->yaml.present
                            ? v->yaml.march
                            : (v->deps.present ? v->deps.march : "");
    char text[512];

    printf("\n%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_VENDOR_BUILD, "march",
                         or_dash(march), "nn", or_dash(v->horizon_nn_version),
                         "hbdk", or_dash(v->hbdk_version), "mapper",
                         or_dash(v->hb_mapper_version), NULL));
}

/* What the runtime said of itself and of what it loaded; assay run holds it
 * against the rest. */
static void print_runtime(const struct assay_vendor *v)
{
    char text[512], place[160];

    for (uint32_t i = 0; i < v->n_claims; i++) {
        const struct assay_claim *c = &v->claims[i];

        if (c->by != ASSAY_BY_RUNTIME && c->by != ASSAY_BY_LOADED)
            continue;
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_VENDOR_RUNTIME, "by",
                             assay_claim_by_name(c->by), "about",
                             assay_claim_about_name(c->about), "value",
                             c->value, "place",
                             assay_claim_place(c, place, sizeof(place)), NULL));
    }
}

static void print_rows(const struct assay_prepared *p)
{
    const struct assay_slice *s = p->slice;
    const struct assay_vendor *v = p->vendor;
    uint32_t matched = 0, all = v->n_nodes > 0 ? v->n_nodes : v->n_quant_nodes;
    char text[256];

    printf("%3s %-28s %-3s %-8s %-29s %9s %10s %s\n", "idx", "name", "ON",
           "subgraph", "type", "cosine", "threshold", "dtype");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        struct assay_vendor_layer k;
        char cosine[32], threshold[32];

        if (!assay_vendor_layer(&k, v, s->layers[i].name))
            continue;
        matched++;
        texts_of(&k, cosine, threshold);
        printf("%03" PRIu32 " %-28s %-3s %-8s %-29s %9s %10s %s\n", i,
               s->layers[i].name, assay_vendor_on_name(k.on),
               or_dash(k.subgraph), or_dash(k.type), cosine, threshold,
               or_dash(k.dtype));
    }
    if (matched < all)
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_VENDOR_UNMATCHED,
                             "lost", assay_num_u(all - matched).text, "all",
                             assay_num_u(all).text, NULL));
}

void assay_show_vendor(const struct assay_prepared *p)
{
    const struct assay_findings *f = &p->findings;
    char text[1024];

    if (p->vendor == NULL)
        return;
    print_build(p->vendor);
    print_runtime(p->vendor);
    if (p->vendor->n_nodes + p->vendor->n_quant_nodes > 0)
        print_rows(p);
    printf("\n%s\n",
           assay_message(
               text, sizeof(text), ASSAY_MSG_FINDING_COUNTS, "contradictions",
               assay_num_u(f->count[ASSAY_CONTRADICTION]).text, "warnings",
               assay_num_u(f->count[ASSAY_WARNING]).text, "hints",
               assay_num_u(f->count[ASSAY_HINT]).text, NULL));
    for (uint32_t i = 0; i < f->n; i++) {
        assay_prepare_finding(&f->v[i], text, sizeof(text));
        printf("  %s\n", text);
    }
}
