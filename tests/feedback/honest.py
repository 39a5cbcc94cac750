"""Words that a researcher may well write, and of which nothing may be taken out."""

# ruff: noqa: RUF001  letters that look alike are what this is about

from __future__ import annotations

HONEST = (
    # words
    "The weights are not used: divide by their sum.",
    "A weighted mean divides by the sum of the weights, not by the number of values; both agree only where all weights are one.",
    "Use the log-sum-exp trick; otherwise exp overflows for epsilon below 1e-3.",
    "First reverse the order of the two updates, then check convergence: |a - a'| < 1e-9.",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is a word, and so is antidisestablishmentarianism.",
    "Step (a), step (b), step (c): i, j, k run over rows, columns and channels.",
    # formulas and LaTeX
    "x = a + b * c - d / e",
    "a = b + c, d = e + f, g = h + i, j = k + l, m = n + o, p = q + r",
    r"The weights are \frac{\exp(-\beta_i(x_j-\mu))}{\sum_{k=1}^{K}\exp(-\beta_k(x_j-\mu))}, not their logarithms.",
    r"$$\mathcal{L}(\theta)=-\frac{1}{N}\sum_{i=1}^{N}\log p_\theta(y_i\mid x_i)+\lambda\lVert\theta\rVert_2^2$$",
    r"\begin{align} u^{(l+1)} &= a / (K v^{(l)}) \\ v^{(l+1)} &= b / (K^\top u^{(l+1)}) \end{align}",
    "∇·(ρ u) = 0, ∂ₜu + (u·∇)u = −∇p + ν∇²u, and ‖x‖₂ ≤ ε ∀ x ∈ ℝⁿ",
    "E[X²] − E[X]² = σ², so the 1/(n−1) factor belongs here; x̂ₖ₊₁ = x̂ₖ + αₖ dₖ.",
    "O(n log n) instead of O(n²); 2ⁿ states; 10⁻⁶ relative.",
    # numbers
    "Returned [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0], each twice as large as it should be.",
    "The rows sum to 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0 instead of 1.",
    "Indices 10 11 12 13 14 15 16 17 18 19 20 are left out; 97 98 99 100 101 102 103 104 105 remain.",
    "3.141592653589793238462643383279502884197 has more digits than a float.",
    "The mask is 0b1010101010, its bytes are 0xff 0x00 0xff, and the seed is 20240229.",
    "1,000,000,007 is prime; 1e-300 underflows to 0.0 when squared; 6.02214076e23.",
    # identifiers, inline code, paths
    "Call `scipy.special.logsumexp` along axis 1 and subtract `log_norm`.",
    "Rename `compute_log_normaliser_of_weighted_residuals` or keep `NegativeLogLikelihoodWithLogitsLoss`.",
    "`conv2d_3x3_bn_relu_v2_fp16_x8` and resnet50v2/stage3/block2/conv3x3 expect channels first.",
    "fft, ifft, rfft, irfft, fftn, rfftn, hfft, fftshift: the real one is meant.",
    "src/models/transformer/attention/multi_head_self_attention.py, line 118",
    "See https://numpy.org/doc/stable/reference/generated/numpy.linalg.lstsq.html#numpy-linalg-lstsq for the rank.",
    "arXiv:1306.0895, doi:10.1145/3292500.3330701, NeurIPS 2013, sections 3.1-3.4",
    "UTF-8, SHA-256, LSTM, GRU, HTTP, XML, JSON, CSV, CUDA, BLAS, LAPACK, FFTW and MKL are fine.",
    "model.layers[3].self_attn.q_proj.weight has shape (4096, 4096), not (4096, 1024).",
    "Set `rtol=1e-6` and `atol=0`; `np.einsum('bhid,bhjd->bhij', q, k)` contracts the wrong axis.",
    # error messages
    "ValueError: operands could not be broadcast together with shapes (3,4) (4,3)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x128)",
    "TypeError: unsupported operand type(s) for +: 'NoneType' and 'float'",
    "numpy.linalg.LinAlgError: 3-th leading minor of the array is not positive definite",
    '  File "stats.py", line 12, in deviation\n    return math.sqrt(x)\nValueError: math domain error',
    "RuntimeWarning: divide by zero encountered in log; invalid value encountered in double_scalars",
    "KeyError: 'transformer.h.0.attn.c_attn.weight'",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity)",
    # layout
    "- shapes: (n, d)\n- dtype: float64\n\n1. normalise\n2. accumulate\n3. divide",
    "a  b  c\n1  2  3\n4  5  6\n-------\n| x | y |\n|---|---|\n| 1 | 2 |",
    "H e l l o is spaced out, and so is N O T E.",
    "well-known state-of-the-art end-to-end top-k n-gram e.g. i.e. w.r.t. k-NN, x-y-z, a/b/c",
    # other languages
    "Die Wahrscheinlichkeitsverteilungsfunktion ist nicht normiert: durch die Summe der Gewichte teilen. Größe prüfen!",
    "Donaudampfschifffahrtsgesellschaftskapitän und Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "La moyenne pondérée doit être divisée par la somme des poids, et non par le nombre d'éléments.",
    "Wszystkie wagi są równe jeden; źdźbło, chrząszcz, wstrzymać. Strč prst skrz krk.",
    "Взвешенное среднее нужно делить на сумму весов, а не на число значений.",
    "Ο σταθμισμένος μέσος διαιρείται με το άθροισμα των βαρών.",
    "加权平均应当除以权重之和，而不是除以数值的个数；当所有权重都等于一时两者才相同。请检查归一化这一步以及边界情况，例如权重全部为零或者只有一个数值的时候，"
    "返回值应当与说明一致，并且不要改变输入的形状和类型，也不要忘记在每次迭代之后重新计算对偶变量，否则结果会逐渐偏离正确的数值。",
    "重み付き平均は、値の個数ではなく、重みの合計で割る必要があります。",
    "가중 평균은 값의 개수가 아니라 가중치의 합으로 나누어야 합니다.",
    "المتوسط المرجح يقسم على مجموع الأوزان وليس على عدد القيم.",
    "میانگین وزنی را بر مجموع وزن‌ها تقسیم کنید؛ نمی‌توان آن را بر تعداد تقسیم کرد.",
    "भारित माध्य को भारों के योग से विभाजित करें, मानों की संख्या से नहीं।",
    "ค่าเฉลี่ยถ่วงน้ำหนักต้องหารด้วยผลรวมของน้ำหนัก",
    "Trung bình có trọng số phải chia cho tổng trọng số, không phải số phần tử.",
    "Good ✅, bad ❌, careful ⚠️, people 👩‍🔬 → see below.",
)
