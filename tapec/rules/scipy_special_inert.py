"""Functions of `scipy.special` that are not differentiated: tables, and those that are refused, with the reason."""

from __future__ import annotations

# tables that whole numbers tell: called while compiling
_FAMILIES = (
    "chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre sh_chebyt"
    " sh_chebyu sh_jacobi sh_legendre"
)
_ZEROS = (
    "ai bei beip ber berp bi erf fresnel fresnelc fresnels jn jnjnp jnp jnyn kei keip kelvin ker kerp y0 y1 y1p yn ynp"
)
TABLES = (
    *(f"scipy.special.roots_{name}" for name in _FAMILIES.split()),
    *(f"scipy.special.{name}_zeros" for name in _ZEROS.split()),
    *(f"scipy.special.{name}" for name in ("bernoulli", "euler")),
    *("numpy.polynomial.legendre.leggauss", "numpy.polynomial.chebyshev.chebgauss"),
    *("numpy.polynomial.hermite.hermgauss", "numpy.polynomial.laguerre.laggauss"),
)

# why others are not differentiated
REFUSALS = {
    "there is no closed form of its derivative": (
        "chndtridf elliprj ellip_harm ellip_harm_2 ellip_normal mathieu_a mathieu_b ncfdtridfd ncfdtridfn nctdtr"
        " nctdtridf nctdtrinc nctdtrit obl_cv obl_cv_seq pro_cv pro_cv_seq"
    ),
    "its arguments are whole numbers": "factorial2 factorialk stirling2",
    "it makes an object; call the function whose name begins with `eval_`": _FAMILIES,
    "SciPy gives its derivative with it: give that to tapec.register": (
        "assoc_legendre_p assoc_legendre_p_all legendre_p_all lmbda lqmn lqn mathieu_cem mathieu_modcem1"
        " mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem modfresnelm modfresnelp obl_ang1 obl_ang1_cv"
        " obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv pbdn_seq pbdv_seq pbvv_seq pro_ang1 pro_ang1_cv pro_rad1"
        " pro_rad1_cv pro_rad2 pro_rad2_cv riccati_jn riccati_yn sph_harm_y_all sph_legendre_p_all"
    ),
    "it asks about SciPy, or changes what SciPy does": "geterr seterr",
    "it makes a table that depends on a number": "mathieu_even_coef mathieu_odd_coef",
}
