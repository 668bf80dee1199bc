"""The bibliography: what claims rest on or are about, each once."""

from __future__ import annotations

from verify.evidence import Reference

AINSLIE = Reference(
    key="ainslie2023",
    text="J. Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from Multi-Head "
    "Checkpoints, EMNLP 2023.",
    url="https://arxiv.org/abs/2305.13245",
)

BRIDLE = Reference(
    key="bridle1990",
    text="J. S. Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, "
    "in: Neurocomputing, Springer, 1990, 227-236.",
    url="https://doi.org/10.1007/978-3-642-76153-9_28",
)

CHIANG = Reference(
    key="chiang2022",
    text="D. Chiang and P. Cholak, Overcoming a Theoretical Limitation of Self-Attention, ACL 2022.",
    url="https://arxiv.org/abs/2202.12172",
)

DAO = Reference(
    key="dao2022",
    text="T. Dao et al., FlashAttention, NeurIPS 2022, appendix B.2: the backward pass.",
    url="https://arxiv.org/abs/2205.14135",
)

DEHGHANI = Reference(
    key="dehghani2023",
    text="M. Dehghani et al., Scaling Vision Transformers to 22 Billion Parameters, ICML 2023: normalised "
    "queries and keys.",
    url="https://arxiv.org/abs/2302.05442",
)

DERRIDA = Reference(
    key="derrida1981",
    text="B. Derrida, Random-energy model: An exactly solvable model of disordered systems, Phys. "
    "Rev. B 24 (1981), 2613-2626: the freezing point, for ever more keys.",
)

DLMF_BASSET = Reference(
    key="dlmf",
    text="NIST Digital Library of Mathematical Functions, 10.32.11 (Basset's integral).",
    url="https://dlmf.nist.gov/10.32",
)

DLMF_GAMMA = Reference(
    key="dlmf5",
    text="NIST Digital Library of Mathematical Functions, chapter 5 (the gamma function).",
    url="https://dlmf.nist.gov/5",
)

GEMMA = Reference(
    key="gemma2024",
    text="Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size, 2024: a cap of 50 on "
    "scores.",
    url="https://arxiv.org/abs/2408.00118",
)

GLOROT = Reference(
    key="glorot2010",
    text="X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural "
    "networks, AISTATS 2010.",
    url="https://proceedings.mlr.press/v9/glorot10a.html",
)

HENRY = Reference(
    key="henry2020",
    text="A. Henry et al., Query-Key Normalization for Transformers, Findings of EMNLP 2020.",
    url="https://arxiv.org/abs/2010.04245",
)

HOEFFDING = Reference(
    key="hoeffding1948",
    text="W. Hoeffding, A Class of Statistics with Asymptotically Normal Distribution, "
    "Ann. Math. Stat. 19 (1948), 293-325.",
)

ISSERLIS = Reference(
    key="isserlis1918",
    text="L. Isserlis, On a formula for the product-moment coefficient of any order of a normal "
    "frequency distribution in any number of variables, Biometrika 12 (1918), 134-139.",
)

KAIMING_HE = Reference(
    key="he2015",
    text="K. He et al., Delving Deep into Rectifiers, ICCV 2015.",
    url="https://arxiv.org/abs/1502.01852",
)

KALAMKAR = Reference(
    key="kalamkar2019",
    text="D. Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019.",
    url="https://arxiv.org/abs/1905.12322",
)

LI = Reference(
    key="li2023",
    text="B. Li et al., DropKey for Vision Transformer, CVPR 2023: keys dropped before softmax.",
    url="https://arxiv.org/abs/2208.02646",
)

MICIKEVICIUS = Reference(
    key="micikevicius2022",
    text="P. Micikevicius et al., FP8 Formats for Deep Learning, 2022.",
    url="https://arxiv.org/abs/2209.05433",
)

OPENAI = Reference(
    key="openai2025",
    text="OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, 2025: a learnt score beside the keys for each head.",
    url="https://arxiv.org/abs/2508.10925",
)

PENG = Reference(
    key="peng2024",
    text="B. Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, ICLR 2024.",
    url="https://arxiv.org/abs/2309.00071",
)

PRESS = Reference(
    key="press2022",
    text="O. Press, N. A. Smith and M. Lewis, Train Short, Test Long: Attention with Linear Biases "
    "Enables Input Length Extrapolation, ICLR 2022.",
    url="https://arxiv.org/abs/2108.12409",
)

SNEDECOR = Reference(
    key="snedecor1934",
    text="G. W. Snedecor, Calculation and Interpretation of Analysis of Variance and Covariance, "
    "Collegiate Press, 1934.",
)

SPRINGER = Reference(
    key="springer1979",
    text="M. D. Springer, The Algebra of Random Variables, Wiley, 1979: products of Cauchy variables.",
)

SRIVASTAVA = Reference(
    key="srivastava2014",
    text="N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting, JMLR "
    "15 (2014), 1929-1958.",
    url="https://jmlr.org/papers/v15/srivastava14a.html",
)

STEIN = Reference(
    key="stein1981",
    text="C. M. Stein, Estimation of the Mean of a Multivariate Normal Distribution, Ann. Statist. 9 "
    "(1981), 1135-1151: integration by parts.",
    url="https://doi.org/10.1214/aos/1176345632",
)

STORN = Reference(
    key="storn1997",
    text="R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359: "
    "the search for rows that break the bounds.",
    url="https://doi.org/10.1023/A:1008202821328",
)

SU = Reference(
    key="su2021",
    text="J. Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.",
    url="https://arxiv.org/abs/2104.09864",
)

VASWANI = Reference(
    key="vaswani2017",
    text="A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, section 3.2.1 and its footnote 4.",
    url="https://arxiv.org/abs/1706.03762",
)

XIAO = Reference(
    key="xiao2024",
    text="G. Xiao et al., Efficient Streaming Language Models with Attention Sinks, ICLR 2024.",
    url="https://arxiv.org/abs/2309.17453",
)

YANG = Reference(
    key="yang2022",
    text="G. Yang et al., Tensor Programs V: Tuning Large Neural Networks via Zero-Shot "
    "Hyperparameter Transfer, 2022.",
    url="https://arxiv.org/abs/2203.03466",
)
